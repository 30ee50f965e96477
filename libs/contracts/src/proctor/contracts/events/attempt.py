"""Events of one attempt. Each names the epoch it belongs to; what comes of an epoch that is over is ignored."""

from typing import Literal

from proctor.contracts.ids import AttemptId, Token
from proctor.contracts.metering import PhaseUse
from proctor.contracts.outcomes import Outcome
from proctor.contracts.work import AttemptWork, Frozen, GradeWork


class OfAttempt(Frozen):
    attempt: AttemptId
    epoch: int


class Usage(Frozen):
    """As the harness reports it; None is unknown, which is not 0."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    steps: int | None = None


class Artifacts(Frozen):
    """One phase's files: a tar in the object store. `cut` says that files were left out for size."""

    object: str
    size: int
    files: int
    cut: bool = False


class AttemptDispatched(OfAttempt):
    """The work item itself: WORK sources it from here."""

    type: Literal["attempt.dispatched"] = "attempt.dispatched"
    pool: Token
    work: AttemptWork


class AttemptClaimed(OfAttempt):
    """`incarnation` tells a restarted worker of the same name from the one that claimed."""

    type: Literal["attempt.claimed"] = "attempt.claimed"
    worker: Token
    incarnation: str
    host: str


class SandboxReady(OfAttempt):
    """`note` says why a back end was chosen over the preferred one, where it was."""

    type: Literal["attempt.sandbox_ready"] = "attempt.sandbox_ready"
    sandbox: Token
    backend: Literal["docker", "bubblewrap"]
    image: str
    seconds: float
    note: str | None = None


class AgentStarted(OfAttempt):
    type: Literal["attempt.agent_started"] = "attempt.agent_started"
    step: int | None = None


class AgentFinished(OfAttempt):
    """The agent phase ended and its result can be graded; `kind` is the error policy row, None for a clean end."""

    type: Literal["attempt.agent_finished"] = "attempt.agent_finished"
    step: int | None = None
    kind: str | None = None
    message: str | None = None
    seconds: float
    setup_seconds: float | None = None
    killed: int = 0
    usage: Usage = Usage()
    artifacts: Artifacts | None = None


class AttemptErrored(OfAttempt):
    """A try ended without anything to grade. The scheduler decides what follows."""

    type: Literal["attempt.errored"] = "attempt.errored"
    phase: Literal["package", "environment", "setup", "agent", "collect"]
    kind: str
    message: str
    artifacts: Artifacts | None = None


class RetryScheduled(OfAttempt):
    """The same attempt again, after `delay` seconds, in the next epoch. `tries` counts those used up."""

    type: Literal["attempt.retry_scheduled"] = "attempt.retry_scheduled"
    kind: str
    delay: float
    tries: int


class AttemptSettled(OfAttempt):
    """An outcome that no verifier gave. `counts`: a failure that is the agent's own, scored 0."""

    type: Literal["attempt.settled"] = "attempt.settled"
    outcome: Literal[Outcome.FAILED, Outcome.ERRORED]
    kind: str
    message: str
    counts: bool


class AttemptCancelled(Frozen):
    """Every attempt without an outcome at this place of the log is cancelled; of one agent where `agent` names it."""

    type: Literal["run.attempts_cancelled"] = "run.attempts_cancelled"
    reason: str
    agent: int | None = None


class RetryRequested(OfAttempt):
    """A person asks for an attempt that ended in an error once more, while its run goes on."""

    type: Literal["attempt.retry_requested"] = "attempt.retry_requested"
    requested_by: str


class LeaseLost(OfAttempt):
    """The worker is gone; the attempt is dispatched again in the next epoch, or settled when it was lost too often."""

    type: Literal["attempt.lease_lost"] = "attempt.lease_lost"
    worker: Token
    reason: Literal["silent", "restarted", "drained", "overdue"]


class GradeDispatched(OfAttempt):
    type: Literal["grade.dispatched"] = "grade.dispatched"
    pool: Token
    round: int
    work: GradeWork


class GradeClaimed(OfAttempt):
    type: Literal["grade.claimed"] = "grade.claimed"
    round: int
    worker: Token
    incarnation: str


class GradeLost(OfAttempt):
    """The grader is gone. The next round repeats the same operations, which attach to those under way."""

    type: Literal["grade.lost"] = "grade.lost"
    round: int
    worker: Token
    reason: Literal["silent", "restarted", "drained", "overdue"]


class GradeSeconds(Frozen):
    """Where the grading time went; `startup` is a separate verifier's sandbox."""

    startup: float
    transfer: float
    run: float
    parse: float


class StepGraded(OfAttempt):
    """One step of several. `rewards` and `score` are decimals in text."""

    type: Literal["attempt.step_graded"] = "attempt.step_graded"
    round: int
    step: int
    rewards: dict[str, str]
    seconds: GradeSeconds
    artifacts: Artifacts | None = None


class StepDispatched(OfAttempt):
    """The next step may begin, in the sandbox that the runner holds."""

    type: Literal["attempt.step_dispatched"] = "attempt.step_dispatched"
    step: int


class AttemptGraded(OfAttempt):
    """The verdict. `score >= threshold` as decimals, both in text as they were compared."""

    type: Literal["attempt.graded"] = "attempt.graded"
    round: int
    rewards: dict[str, str]
    score: str
    threshold: str
    passed: bool
    mode: Literal["shared", "separate"]
    seconds: GradeSeconds
    artifacts: Artifacts | None = None


class GradingFailed(OfAttempt):
    """The verifier gave no reward, by the policy row `kind`."""

    type: Literal["attempt.grading_failed"] = "attempt.grading_failed"
    round: int
    kind: str
    message: str
    artifacts: Artifacts | None = None


class AttemptCleaned(OfAttempt):
    """The sandbox of this epoch and everything in it are gone. `worker`: whose it was; None, whoever's. `use` is
    empty when the runner that measured it is gone."""

    type: Literal["attempt.cleaned"] = "attempt.cleaned"
    sandbox: Token
    worker: Token | None = None
    use: tuple[PhaseUse, ...] = ()


AttemptEvent = (
    AttemptDispatched
    | AttemptClaimed
    | SandboxReady
    | AgentStarted
    | AgentFinished
    | AttemptErrored
    | RetryScheduled
    | AttemptSettled
    | RetryRequested
    | LeaseLost
    | GradeDispatched
    | GradeClaimed
    | GradeLost
    | StepGraded
    | StepDispatched
    | AttemptGraded
    | GradingFailed
    | AttemptCleaned
)
