"""Events of a run as a whole."""

from typing import Literal

from proctor.contracts.config import RunConfig
from proctor.contracts.ids import Token
from proctor.contracts.judge import JudgeRule
from proctor.contracts.metering import SandboxRates
from proctor.contracts.work import Frozen


class Budget(Frozen):
    """What a run may use before it is stopped: by itself, and with all of its workspace in the calendar month (UTC).
    Dollars are LLM and sandbox cost as reported; attempts are those dispatched, retries included, lost ones not."""

    usd: float | None = None
    attempts: int | None = None
    month_usd: float | None = None
    month_attempts: int | None = None


class RunSubmitted(Frozen):
    """`config` holds names of literals, never their values; `settings` has a keyed fingerprint of each agent's
    values, so that equal ones can be told. `manifest` names the pinned version's task list. `budget` is what holds,
    `own_budget` what the run itself asked for. `reuse`: results of `rerun_of` that count and would come out of the
    same settings are taken over."""

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
    settings: tuple[str, ...] = ()
    budget: Budget | None = None
    own_budget: Budget | None = None
    rates: SandboxRates = SandboxRates()
    judge: JudgeRule | None = None
    rerun_of: Token | None = None
    reuse: bool = False


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


class AgentStopRequested(Frozen):
    """One agent of the run is to stop; the others go on."""

    type: Literal["run.agent_stop_requested"] = "run.agent_stop_requested"
    agent: int
    reason: str
    requested_by: str


class RunPaused(Frozen):
    """Nothing more is dispatched; what is under way goes on."""

    type: Literal["run.paused"] = "run.paused"
    reason: str
    paused_by: str


class RunResumed(Frozen):
    type: Literal["run.resumed"] = "run.resumed"
    resumed_by: str


class BudgetReached(Frozen):
    """Nothing more is dispatched; once what is under way has ended, the run is stopped."""

    type: Literal["run.budget_reached"] = "run.budget_reached"
    scope: Literal["run", "month"]
    unit: Literal["usd", "attempts"]
    limit: float
    used: float


class ResultsReused(Frozen):
    """Results of the ended run `source` that are taken over, as its log had them at `position`. `agents` and `tasks`
    give, for each index of this run, the source's, or None. `outcomes` has a text per agent with a character for
    each task and attempt, task by task: `p` passed, `f` failed, `.` to be run."""

    type: Literal["run.results_reused"] = "run.results_reused"
    source: Token
    source_name: str
    position: int
    agents: tuple[int | None, ...]
    tasks: tuple[int | None, ...]
    outcomes: tuple[str, ...]
    count: int


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
