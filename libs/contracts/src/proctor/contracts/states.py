"""The state machines, as tables: (state, event) -> state. What a table doesn't hold is ignored."""

from enum import StrEnum
from typing import Final, NamedTuple


class RunStatus(StrEnum):
    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


class AttemptStatus(StrEnum):
    PLANNED = "planned"
    DISPATCHED = "dispatched"
    CLAIMED = "claimed"
    SANDBOX_READY = "sandbox_ready"
    AGENT_RUNNING = "agent_running"
    AWAITING_GRADE = "awaiting_grade"
    GRADE_DISPATCHED = "grade_dispatched"
    GRADING = "grading"
    STEP_GRADED = "step_graded"
    DECIDING = "deciding"
    RETRY_WAIT = "retry_wait"
    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    CANCELLED = "cancelled"


class SyncStatus(StrEnum):
    PENDING = "pending"
    SYNCING = "syncing"
    READY = "ready"
    FAILED = "failed"
    REMOVED = "removed"


R, A = RunStatus, AttemptStatus

TERMINAL_RUN: Final = frozenset({R.FINISHED, R.FAILED, R.STOPPED})
TERMINAL_ATTEMPT: Final = frozenset({A.PASSED, A.FAILED, A.ERRORED, A.CANCELLED})

RUN_TABLE: Final[dict[tuple[RunStatus, str], RunStatus]] = {
    (R.PENDING, "run.planned"): R.QUEUED,
    (R.QUEUED, "attempt.claimed"): R.RUNNING,
    **{
        (state, f"run.{end}"): end
        for state in (R.PENDING, R.QUEUED, R.RUNNING)
        for end in (R.FINISHED, R.FAILED, R.STOPPED)
    },
}

_HELD = (
    A.CLAIMED,
    A.SANDBOX_READY,
    A.AGENT_RUNNING,
    A.AWAITING_GRADE,
    A.GRADE_DISPATCHED,
    A.GRADING,
    A.STEP_GRADED,
)
HELD_BY_RUNNER: Final = frozenset(_HELD)
"""States in which a runner holds a sandbox for the attempt, so that its silence is a lost lease."""

IN_SLOT: Final = HELD_BY_RUNNER | {A.DISPATCHED, A.DECIDING}
"""States that use one of the run's `max_concurrent_attempts`: from dispatched to the outcome."""

ATTEMPT_TABLE: Final[dict[tuple[AttemptStatus, str], AttemptStatus]] = {
    (A.PLANNED, "attempt.dispatched"): A.DISPATCHED,
    (A.RETRY_WAIT, "attempt.dispatched"): A.DISPATCHED,
    (A.DISPATCHED, "attempt.claimed"): A.CLAIMED,
    (A.CLAIMED, "attempt.sandbox_ready"): A.SANDBOX_READY,
    (A.SANDBOX_READY, "attempt.agent_started"): A.AGENT_RUNNING,
    (A.AGENT_RUNNING, "attempt.agent_finished"): A.AWAITING_GRADE,
    (A.AWAITING_GRADE, "grade.dispatched"): A.GRADE_DISPATCHED,
    (A.GRADE_DISPATCHED, "grade.claimed"): A.GRADING,
    (A.GRADING, "grade.lost"): A.AWAITING_GRADE,
    (A.GRADING, "attempt.step_graded"): A.STEP_GRADED,
    (A.STEP_GRADED, "attempt.step_dispatched"): A.SANDBOX_READY,
    (A.GRADING, "attempt.grading_failed"): A.DECIDING,
    (A.DECIDING, "attempt.retry_scheduled"): A.RETRY_WAIT,
    (A.ERRORED, "attempt.retry_requested"): A.RETRY_WAIT,
    **{(state, "attempt.errored"): A.DECIDING for state in (A.CLAIMED, A.SANDBOX_READY, A.AGENT_RUNNING)},
    **{(state, "attempt.lease_lost"): A.PLANNED for state in _HELD},
}
"""`attempt.graded`, `attempt.settled` and `run.attempts_cancelled` end an attempt; see `ENDED_BY`."""

ENDED_BY: Final[dict[str, frozenset[AttemptStatus]]] = {
    "attempt.graded": frozenset({A.GRADING}),
    "attempt.settled": frozenset({A.PLANNED, A.AWAITING_GRADE, A.GRADE_DISPATCHED, A.DECIDING}),
}


class Watch(NamedTuple):
    """Who must move a state on, and after how many seconds what happens instead."""

    owner: str
    seconds: float
    then: str


RUN_WATCH: Final[dict[RunStatus, Watch]] = {
    R.PENDING: Watch("scheduler", 600, "failed planning_timeout"),
    R.QUEUED: Watch("scheduler", 86_400, "failed no_capacity"),
    R.RUNNING: Watch("scheduler", 86_400, "failed no_capacity"),
}
PAUSE_WATCH: Final = Watch("whoever paused the run", 7 * 86_400, "stopped")
ATTEMPT_WATCH: Final[dict[AttemptStatus, Watch]] = {
    A.PLANNED: Watch("scheduler", 86_400, "failed no_capacity"),
    A.DISPATCHED: Watch("scheduler", 86_400, "failed no_capacity"),
    A.CLAIMED: Watch("runner", 300, "lease_lost"),
    A.SANDBOX_READY: Watch("runner", 300, "lease_lost"),
    A.AGENT_RUNNING: Watch("runner", 300, "lease_lost"),
    A.AWAITING_GRADE: Watch("scheduler", 86_400, "errored grader_unavailable"),
    A.GRADE_DISPATCHED: Watch("scheduler", 86_400, "errored grader_unavailable"),
    A.GRADING: Watch("grader", 600, "dispatched again"),
    A.STEP_GRADED: Watch("scheduler", 60, "dispatched again"),
    A.DECIDING: Watch("scheduler", 60, "decided again"),
    A.RETRY_WAIT: Watch("scheduler", 3_600, "dispatched"),
}
"""For `claimed` to `grading` the seconds are what is granted beyond the phases' own limits."""
