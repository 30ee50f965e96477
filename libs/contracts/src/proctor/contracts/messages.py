"""What processes say to one another on core NATS, never stored: beats, leases, sandbox operations."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from proctor.contracts.ids import AttemptId, Token
from proctor.contracts.work import Frozen


class Held(Frozen):
    workspace: Token
    run: Token
    attempt: AttemptId
    epoch: int


class Beat(Frozen):
    """Every 5 s from each worker. `free` is what it could take on now; `engine` names the container engine, shared
    by every worker that sees the same one."""

    worker: Token
    incarnation: str
    kind: Literal["runner", "grader"]
    pools: tuple[Token, ...] = ("default",)
    host: str
    engine: str | None = None
    capacity: int
    free: int
    draining: bool = False
    held: tuple[Held, ...] = ()
    version: str
    backend: str | None = None


class BeatAnswer(Frozen):
    """`over`: epochs that ended; kill their sandboxes and publish nothing more of them. `steps`: what may begin."""

    over: tuple[Held, ...] = ()
    steps: tuple["StepOrder", ...] = ()


class StepOrder(Frozen):
    held: Held
    step: int


class LeaseOrder(Frozen):
    """Pushed to a worker so that it needn't wait for its next beat: `step` None is over."""

    held: Held
    step: int | None = None


class LeaseRequest(Frozen):
    """May I start? `sequence` is that of my claim."""

    held: Held
    kind: Literal["attempt", "grade"]
    round: int = 0
    worker: Token
    incarnation: str
    sequence: int


class LeaseAnswer(Frozen):
    granted: bool
    reason: str = ""


class SweepRequest(Frozen):
    """What was found on an engine, whoever started it: which of it is over?"""

    found: tuple[Held, ...]


class SweepAnswer(Frozen):
    over: tuple[Held, ...]


class VaultRequest(Frozen):
    """The environment of the attempt in my lease."""

    held: Held
    worker: Token


class VaultAnswer(Frozen):
    """`values` are set in the environment of the agent, or, for a grader, of the verifier; `variables` are there for
    `${VAR}` in the task alone. `versions`: of each secret in either, as `scope:version`."""

    values: dict[str, str] | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    error: str | None = None


class PutFolders(Frozen):
    """Copy folders of the task's package into `target`, later ones over earlier ones; `clean` is emptied before."""

    op: Literal["put"] = "put"
    id: str
    folders: tuple[str, ...]
    target: str
    clean: tuple[str, ...] = ()


class Execute(Frozen):
    """Run a command once; a repeat of `id` attaches to it."""

    op: Literal["exec"] = "exec"
    id: str
    command: str
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    user: str | None = None
    timeout: float | None = None


class Collect(Frozen):
    """Store a folder of the sandbox as an object and answer the named files of it inline, where they are small."""

    op: Literal["collect"] = "collect"
    id: str
    path: str
    object: str
    inline: tuple[str, ...] = ()


class Spawn(Frozen):
    """Start a second sandbox for a separate verifier, with the agent's declared artifacts in place."""

    op: Literal["spawn"] = "spawn"
    id: str
    step: int | None = None


SandboxRequest = Annotated[PutFolders | Execute | Collect | Spawn, Field(discriminator="op")]


class SandboxCall(Frozen):
    """An operation on a sandbox. `wait`: seconds after which the answer is `running`; ask again with the same id."""

    request: SandboxRequest
    wait: float = 15


class SandboxAnswer(Frozen):
    """`status` error carries a policy `kind`. `files` are the inline files asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    status: Literal["done", "running", "gone", "error"]
    returncode: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    sandbox: str | None = None
    files: dict[str, bytes] = Field(default_factory=dict)
    object: str | None = None
    size: int = 0
    count: int = 0
    cut: bool = False
    kind: str | None = None
    message: str | None = None


class WorkerView(Frozen):
    """One worker as the scheduler sees it. `silence`: seconds since its last beat, by the scheduler's clock."""

    beat: Beat
    silence: float


class FleetAnswer(Frozen):
    workers: tuple[WorkerView, ...]
