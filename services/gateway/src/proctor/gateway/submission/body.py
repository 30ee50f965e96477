"""Reads the body of a submit: the sections of the TOML under their wire names, and all that is wrong in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

from pydantic import Field, TypeAdapter

from proctor.contracts import config as sections
from proctor.contracts.config import MAX_AGENTS, Agent, RunConfig
from proctor.gateway.billing.budget import NO_BUDGET, RunBudget
from proctor.gateway.submission.environment import environment
from proctor.gateway.submission.findings import closest, key_of
from proctor.gateway.submission.secrets import Secrets, read_secrets
from proctor.gateway.submission.sound import Reading, read
from proctor.gateway.text import Place, faults
from proctor.service.errors import Issue

_BODY_KEYS: Final = (
    "experiment_config",
    "agents",
    "tasks_config",
    "execution_config",
    "env_config",
    "secrets",
    "budget_config",
)
_REQUIRED: Final = ("experiment", "agents")
_SECTIONS: Final[dict[str, TypeAdapter[Any]]] = {
    "experiment": TypeAdapter(sections.Experiment),
    "tasks": TypeAdapter(sections.Tasks),
    "execution": TypeAdapter(sections.Execution),
    "verifier": TypeAdapter(sections.Verifier),
    "env": TypeAdapter(dict[sections.EnvName, str]),
    "budget": TypeAdapter(RunBudget),
}
_AGENTS: Final = TypeAdapter(Annotated[list[Any], Field(min_length=1, max_length=MAX_AGENTS)])
_AGENT: Final = TypeAdapter(Agent)
_NO_EXPERIMENT: Final = sections.Experiment.model_construct(benchmark="")


@dataclass(frozen=True, slots=True)
class Submission:
    """A body as far as it reads as a run. Without `issues` it is one; with them, `config` has the defaults of what is
    `left_out`, and is for finding further issues alone."""

    config: RunConfig
    secrets: Secrets
    issues: tuple[Issue, ...]
    left_out: frozenset[Place]
    budget: RunBudget = NO_BUDGET

    @property
    def benchmark(self) -> str | None:
        return self.config.experiment.benchmark or None

    def reads(self, *place: str | int) -> bool:
        """Whether `config` says what the body says there; where it doesn't, an issue says why."""
        return not any(place[:depth] in self.left_out for depth in range(1, len(place) + 1))


def parse(body: Mapping[str, Any]) -> Submission:
    """The body of section 7.5 of the wire contract, with an issue for each problem that it has by itself."""
    toml = _as_toml(body)
    parts = {name: read(kind, toml[name], (name,)) for name, kind in _SECTIONS.items() if name in toml}
    agents, agent_issues = _agents(toml.get("agents"))
    secret_part = read_secrets(body.get("secrets"))
    readings: list[Reading[Any]] = [*parts.values(), *agents, secret_part]
    secrets = secret_part.value or Secrets()
    found: dict[str, Any] = {name: part.value for name, part in parts.items() if part.value is not None}
    budget = found.pop("budget", NO_BUDGET)
    found.setdefault("experiment", _NO_EXPERIMENT)
    found["agents"] = [part.value or Agent() for part in agents]
    found["secrets"] = sections.RunSecrets(required=list(secrets.required))
    config = RunConfig.model_construct(None, **found)
    issues = [
        *(Issue(key, "isn't a part of a submit", closest(key, _BODY_KEYS)) for key in body if key not in _BODY_KEYS),
        *(Issue(name, "is required") for name in _REQUIRED if name not in toml),
        *(issue for part in readings for issue in part.issues),
        *agent_issues,
        *_names(config.agents),
        *environment(config, secrets.required),
        *(Issue(key_of(place), why) for place, why in faults(config.without_values().model_dump(mode="json"))),
    ]
    left_out = frozenset(place for part in readings for place in part.left_out)
    return Submission(config, secrets, tuple(issues), left_out, budget)


def _agents(raw: object) -> tuple[list[Reading[Agent]], tuple[Issue, ...]]:
    """Each by itself. Of too many the first are read."""
    if raw is None:
        return [], ()
    issues = read(_AGENTS, raw, ("agents",)).issues
    listed = cast("list[object]", raw)[:MAX_AGENTS] if isinstance(raw, list) else []
    return [read(_AGENT, agent, ("agents", index)) for index, agent in enumerate(listed)], issues


def _names(agents: Sequence[Agent]) -> Iterator[Issue]:
    first: dict[str, int] = {}
    for index, agent in enumerate(agents):
        if agent.name is not None and first.setdefault(agent.name, index) != index:
            yield Issue(f"agents[{index}].name", f"is that of agents[{first[agent.name]}] as well; choose another")


def _as_toml(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body under the names of the TOML's sections, so that every finding is at the key the user wrote."""
    execution: object = body.get("execution_config")
    verifier: dict[str, Any] = {}
    if isinstance(execution, dict) and "verifier_secrets" in execution:
        table = cast("dict[str, Any]", execution)
        verifier = {"required": table["verifier_secrets"]}
        execution = {key: value for key, value in table.items() if key != "verifier_secrets"}
    named: dict[str, object] = {
        "experiment": body.get("experiment_config"),
        "tasks": body.get("tasks_config"),
        "agents": body.get("agents"),
        "execution": execution,
        "verifier": verifier or None,
        "env": body.get("env_config"),
        "budget": body.get("budget_config"),
    }
    return {key: value for key, value in named.items() if value is not None}
