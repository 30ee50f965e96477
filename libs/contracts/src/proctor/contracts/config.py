"""A run's configuration: the sections of the submit TOML, with their limits and defaults."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from proctor.contracts.ids import Token

ENV_NAME = r"^[A-Z_][A-Z0-9_]*$"
SECRET_NAME = r"^[A-Z][A-Z0-9_]*$"
MAX_RESULTS = 100_000
MAX_AGENTS = 8
MAX_NAME = 64

EnvName = Annotated[str, Field(pattern=ENV_NAME)]
SecretName = Annotated[str, Field(pattern=SECRET_NAME, max_length=255)]
Text = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"\S")]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProviderModel(Section):
    type: Literal["provider"]
    model: Text
    api_key_secret: SecretName


class EndpointModel(Section):
    type: Literal["endpoint"]
    base_url: Text
    model: Text
    api_key_secret: SecretName
    extra_headers: dict[str, str] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _without_credentials(cls, url: str) -> str:
        if "@" in urlsplit(url).netloc:
            raise ValueError("must not hold credentials; name a secret that holds them in api_key_secret")
        return url


class HostedModel(Section):
    type: Literal["hosted"]
    base_model: Text
    lora_model_name: Text


Model = Annotated[ProviderModel | EndpointModel | HostedModel, Field(discriminator="type")]


class Agent(Section):
    """A harness and its model. `name` tells it from another of the same two. In an event `env` holds names alone: the
    values live in the vault with the run."""

    name: str | None = None
    harness: Text | None = None
    harness_api_key_secret: SecretName | None = None
    model: Model | None = None
    env: dict[EnvName, str] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _shown_in_one_line(cls, name: str | None) -> str | None:
        if name is not None and not (name.isprintable() and 0 < len(name) <= MAX_NAME and name == name.strip()):
            raise ValueError(f"must be 1 to {MAX_NAME} printable characters, the first and the last no space")
        return name


class Tasks(Section):
    task_names: list[Text] | None = None
    categories: list[Text] | None = None
    task_set: Token | None = None

    @field_validator("task_names", "categories")
    @classmethod
    def _not_empty(cls, names: list[str] | None) -> list[str] | None:
        if names == []:
            raise ValueError("must name at least one; leave the key out to take every task")
        return names


class Execution(Section):
    attempts_per_task: int = Field(default=1, ge=1, le=64, strict=True)
    max_concurrent_attempts: int = Field(default=4, ge=1, le=256, strict=True)
    timeout_multiplier: float = Field(default=1.0, ge=0.1, le=20, allow_inf_nan=False)
    max_retries: int = Field(default=0, ge=0, le=10, strict=True)
    pass_threshold: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    judge_model: Text | None = None
    judge_api_key_secret: SecretName | None = None


class Verifier(Section):
    required: list[SecretName] = Field(default_factory=list, max_length=16)


class RunSecrets(Section):
    """Secrets that every agent gets: with the run, or from the vault."""

    required: list[SecretName] = Field(default_factory=list, max_length=16)


class Experiment(Section):
    benchmark: Text


class RunConfig(Section):
    """The TOML as submitted, every section present and defaults filled in."""

    experiment: Experiment
    tasks: Tasks = Field(default_factory=Tasks)
    agents: list[Agent] = Field(min_length=1, max_length=MAX_AGENTS)
    execution: Execution = Field(default_factory=Execution)
    verifier: Verifier = Field(default_factory=Verifier)
    env: dict[EnvName, str] = Field(default_factory=dict)
    secrets: RunSecrets = Field(default_factory=RunSecrets)

    def without_values(self) -> "RunConfig":
        """The same configuration fit for an event: names of literals, no values."""
        agents = [
            agent.model_copy(update={"env": dict.fromkeys(agent.env, ""), "model": _without_headers(agent.model)})
            for agent in self.agents
        ]
        return self.model_copy(update={"agents": agents, "env": dict.fromkeys(self.env, "")})

    def values(self, agent: int) -> dict[str, str]:
        """The literals of one agent's environment, its own over the run's."""
        return {**self.env, **self.agents[agent].env}

    def agent_secrets(self, agent: int) -> tuple[str, ...]:
        """Names of the secrets in one agent's environment: the run's, its model's key and its harness's."""
        one = self.agents[agent]
        keys = (getattr(one.model, "api_key_secret", None), one.harness_api_key_secret)
        return tuple(dict.fromkeys([*self.secrets.required, *(key for key in keys if key is not None)]))

    def verifier_secrets(self) -> tuple[str, ...]:
        """Names of the secrets that a verifier gets, and no agent."""
        judge = self.execution.judge_api_key_secret
        return tuple(dict.fromkeys([*([judge] if judge else []), *self.verifier.required]))

    def vaulted(self, agent: int) -> tuple[str, ...]:
        """Names of everything the vault may have for one agent's attempts and their grading, sorted."""
        return tuple(sorted({*self.values(agent), *self.agent_secrets(agent), *self.verifier_secrets()}))


def _without_headers(model: Model | None) -> Model | None:
    if isinstance(model, EndpointModel):
        return model.model_copy(update={"extra_headers": dict.fromkeys(model.extra_headers, "")})
    return model


class Harness(Section):
    """What a harness needs. `native` ones are Proctor's own and ignore the model."""

    name: str
    native: bool
    needs_model: bool
    summary: str


HARNESSES = {
    harness.name: harness
    for harness in (
        Harness(name="oracle", native=True, needs_model=False, summary="runs the task's own solution"),
        Harness(name="nop", native=True, needs_model=False, summary="does nothing"),
        Harness(
            name="command",
            native=True,
            needs_model=False,
            summary="runs the shell command in PROCTOR_COMMAND",
        ),
    )
}


def model_label(model: Model | None) -> str | None:
    """How a model is written in tables and entrants; hosted ones as `<base_model>:<lora_model_name>`."""
    match model:
        case None:
            return None
        case HostedModel():
            return f"{model.base_model}:{model.lora_model_name}"
        case _:
            return model.model
