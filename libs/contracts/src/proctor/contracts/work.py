"""Work items: what a dispatch event carries so that a worker needs nothing else but the bus."""

from pydantic import BaseModel, ConfigDict

from proctor.contracts.ids import AttemptId, Token


class Frozen(BaseModel):
    """Numbers are finite: JSON has no other, so one that isn't could be written and never be read again."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TaskRef(Frozen):
    """A task as the run's lock pins it. `package` names the object that holds the task's files."""

    name: str
    digest: str
    package: str


class AgentRef(Frozen):
    index: int
    harness: str
    model: str | None = None


class AttemptWork(Frozen):
    """`literals`: names of what the vault may have for this agent's attempts. `lifetime`: seconds after which
    an orphaned sandbox removes itself."""

    workspace: Token
    run: Token
    run_name: str
    attempt: AttemptId
    epoch: int
    task: TaskRef
    agent: AgentRef
    literals: tuple[str, ...] = ()
    timeout_multiplier: float
    lifetime: float


class JudgeWork(Frozen):
    """What the verifier's environment says of the model that judges: the value of the secret `key_secret`, and the
    model's name where the benchmark doesn't pin it."""

    key_variable: str
    key_secret: str
    model_variable: str | None = None
    model: str | None = None


class GradeWork(Frozen):
    """`step` is None for a task without steps. `threshold` is a decimal in text, compared as such."""

    workspace: Token
    run: Token
    attempt: AttemptId
    epoch: int
    round: int
    sandbox: Token
    runner: Token
    task: TaskRef
    literals: tuple[str, ...] = ()
    step: int | None = None
    step_rewards: tuple[dict[str, str], ...] = ()
    timeout_multiplier: float
    threshold: str
    reward_key: str | None = None
    judge: JudgeWork | None = None
