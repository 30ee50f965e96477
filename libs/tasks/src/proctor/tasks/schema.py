"""task.toml, schema 1.4, as frozen models: the fields, defaults and verdicts of Harbor 0.26.

Unknown keys are let through here and reported by `task_toml`. The older spellings (`version`, `memory`,
`storage`, `allow_internet`) are read and turned into today's.
"""

from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import AfterValidator, Field, field_validator, model_validator

from proctor.tasks.artifacts import Artifacts, CollectConfig, User
from proctor.tasks.environment import EnvironmentConfig, HealthcheckConfig, Hosts, NetworkMode
from proctor.tasks.names import package_name, step_name, step_name_key
from proctor.tasks.table import Table

VerifierMode = Literal["shared", "separate"]
RewardStrategy = Literal["mean", "final"]


class Author(Table):
    name: str
    email: str | None = None


class PackageInfo(Table):
    name: Annotated[str, AfterValidator(package_name)]
    version: str | None = Field(default=None, min_length=1)
    description: str = ""
    authors: tuple[Author, ...] = ()
    keywords: tuple[str, ...] = ()


class _PhaseNetwork(Table):
    network_mode: NetworkMode | None = None
    allowed_hosts: Hosts | None = None

    @model_validator(mode="after")
    def _hosts_need_allowlist(self) -> Self:
        unset = self.network_mode is None and self.allowed_hosts is not None
        if unset or (self.allowed_hosts and self.network_mode != "allowlist"):
            raise ValueError("allowed_hosts needs network_mode = 'allowlist'; set it, or remove allowed_hosts")
        return self


class SolutionConfig(Table):
    env: dict[str, str] = Field(default_factory=dict[str, str])


class AgentConfig(_PhaseNetwork):
    timeout_sec: float | None = None
    user: User = None


class VerifierConfig(_PhaseNetwork):
    timeout_sec: float = 600.0
    env: dict[str, str] = Field(default_factory=dict[str, str])
    user: User = None
    environment_mode: VerifierMode | None = None
    environment: EnvironmentConfig | None = None
    collect: tuple[CollectConfig, ...] = ()

    @model_validator(mode="after")
    def _shared_has_no_environment(self) -> Self:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError("environment_mode = 'shared' excludes [verifier.environment]; use 'separate' or remove it")
        return self

    @property
    def mode(self) -> VerifierMode | None:
        """The mode this table asks for; None leaves it to the level above."""
        return self.environment_mode or ("separate" if self.environment is not None else None)


class StepConfig(Table):
    name: Annotated[str, AfterValidator(step_name)]
    agent: AgentConfig = AgentConfig()
    verifier: VerifierConfig = VerifierConfig()
    min_reward: float | dict[str, float] | None = None
    healthcheck: HealthcheckConfig | None = None
    artifacts: Artifacts = ()


class TaskConfig(Table):
    legacy_keys: ClassVar[frozenset[str]] = frozenset({"version"})

    schema_version: str = "1.4"
    task: PackageInfo | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    verifier: VerifierConfig = VerifierConfig()
    agent: AgentConfig = AgentConfig()
    environment: EnvironmentConfig = EnvironmentConfig()
    solution: SolutionConfig = SolutionConfig()
    source: str | None = None
    multi_step_reward_strategy: RewardStrategy | None = None
    steps: tuple[StepConfig, ...] | None = None
    artifacts: Artifacts = ()

    @model_validator(mode="before")
    @classmethod
    def _version_was_renamed(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        table = dict(cast("dict[str, object]", data))
        if "version" in table:
            table.setdefault("schema_version", table.pop("version"))
        return table

    @field_validator("steps")
    @classmethod
    def _steps_are_distinct(cls, steps: tuple[StepConfig, ...] | None) -> tuple[StepConfig, ...] | None:
        names = [step_name_key(step.name) for step in steps or ()]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two steps have the name {min(repeated)!r} (letter case doesn't count); rename one")
        return steps
