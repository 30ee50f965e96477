"""Events of a run as a whole."""

from typing import Literal

from proctor.contracts.config import RunConfig
from proctor.contracts.ids import Token
from proctor.contracts.work import Frozen


class RunSubmitted(Frozen):
    """`config` holds names of literals, never their values. `manifest` names the pinned version's task list."""

    type: Literal["run.submitted"] = "run.submitted"
    run: Token
    name: Token
    benchmark: Token
    benchmark_key: str
    benchmark_name: str
    version: str
    manifest: str
    pass_threshold: str
    reward_key: str | None = None
    config: RunConfig
    submitted_by: str


class RunPlanned(Frozen):
    """The whole matrix: `agents` x `tasks` x `attempts_per_task`, derived from the lock object named here."""

    type: Literal["run.planned"] = "run.planned"
    lock: str
    task_set: Literal["full", "parity", "subset"]
    agents: int
    tasks: int
    attempts_per_task: int
    max_concurrent_attempts: int
    max_retries: int


class RunWaiting(Frozen):
    """Why nothing of the run moves, in words."""

    type: Literal["run.waiting"] = "run.waiting"
    reason: str


class StopRequested(Frozen):
    type: Literal["run.stop_requested"] = "run.stop_requested"
    reason: str
    requested_by: str


class RunFinished(Frozen):
    type: Literal["run.finished"] = "run.finished"
    passed: int
    failed: int
    errored: int
    cancelled: int


class RunFailed(Frozen):
    """`kind`: planning_failed, planning_timeout, no_capacity, no_agent_finished or scheduler_error."""

    type: Literal["run.failed"] = "run.failed"
    kind: str
    message: str


class RunStopped(Frozen):
    type: Literal["run.stopped"] = "run.stopped"
    reason: str


class RunCleaned(Frozen):
    """Closes the log: nothing of the run is left on any machine that answers."""

    type: Literal["run.cleaned"] = "run.cleaned"


class SandboxAbandoned(Frozen):
    """A host that doesn't answer may still hold `count` sandboxes; they remove themselves at their lifetime."""

    type: Literal["sandbox.abandoned"] = "sandbox.abandoned"
    worker: str
    count: int
