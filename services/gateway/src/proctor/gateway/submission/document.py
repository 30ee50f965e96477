"""The body of a submit as one model, for the OpenAPI document. `body.parse` reads one, and tells all problems."""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from proctor.contracts import config as sections
from proctor.contracts.config import MAX_AGENTS
from proctor.gateway.billing.budget import RunBudget

EXAMPLE: Final[dict[str, Any]] = {
    "experiment_config": {"benchmark": "first-steps"},
    "agents": [
        {"harness": "oracle"},
        {"name": "make", "harness": "command", "env": {"PROCTOR_COMMAND": "make"}},
    ],
    "tasks_config": {"task_names": ["csv-totals"]},
    "execution_config": {"attempts_per_task": 2, "max_concurrent_attempts": 4},
    "env_config": {"LANG": "C"},
    "budget_config": {"usd": 20.0, "attempts": 100},
}


class ExecutionConfig(sections.Execution):
    """`verifier_secrets`: names of stored secrets that verifiers get, and no agent."""

    verifier_secrets: list[sections.SecretName] = Field(default=[], max_length=16)


class NewRunSecrets(sections.RunSecrets):
    """Names that every agent gets. `provided` has the values of some, for this run alone; the others are stored."""

    provided: dict[sections.SecretName, str] = Field(default={})


class NewRun(BaseModel):
    """The sections of the submit TOML under the wire names of the `osmosis` command."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    experiment_config: sections.Experiment
    agents: list[sections.Agent] = Field(min_length=1, max_length=MAX_AGENTS)
    tasks_config: sections.Tasks | None = None
    execution_config: ExecutionConfig | None = None
    env_config: dict[sections.EnvName, str] | None = None
    budget_config: RunBudget | None = None
    secrets: NewRunSecrets | None = None
