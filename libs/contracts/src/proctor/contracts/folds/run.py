"""A run's state. `apply` takes its events in log order; repeats and what comes of past epochs change nothing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from proctor.contracts.events import (
    AttemptCancelled,
    AttemptClaimed,
    AttemptCleaned,
    RunCleaned,
    RunFailed,
    RunPlanned,
    RunStopped,
    RunSubmitted,
    RunWaiting,
    SandboxAbandoned,
    StopRequested,
)
from proctor.contracts.events.attempt import AttemptEvent, OfAttempt
from proctor.contracts.folds.attempt import NEW, AttemptState, cancel, evolve
from proctor.contracts.ids import Cell
from proctor.contracts.records import Recorded
from proctor.contracts.states import (
    IN_SLOT,
    RUN_TABLE,
    TERMINAL_ATTEMPT,
    TERMINAL_RUN,
    AttemptStatus,
    RunStatus,
)

SCHEDULER = "scheduler"


@dataclass(slots=True)
class RunState:
    """`attempts` holds those that have left `planned`; `sandboxes` maps (attempt, epoch) to the worker that may
    still have one. `scheduler_sequence` is what the scheduler's next decision is guarded with."""

    workspace: str
    run: str
    submitted: RunSubmitted | None = None
    planned: RunPlanned | None = None
    status: RunStatus = RunStatus.PENDING
    since: int = 0
    submitted_sequence: int = 0
    last_sequence: int = 0
    scheduler_sequence: int = 0
    stop: StopRequested | None = None
    waiting: str | None = None
    failure: RunFailed | None = None
    cancelled: bool = False
    cleaned: bool = False
    abandoned: set[str] = field(default_factory=set[str])
    attempts: dict[str, AttemptState] = field(default_factory=dict[str, AttemptState])
    tally: Counter[AttemptStatus] = field(default_factory=Counter[AttemptStatus])
    sandboxes: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL_RUN

    @property
    def expected(self) -> int:
        """How many results the plan asks for; 0 before there is a plan."""
        plan = self.planned
        return plan.agents * plan.tasks * plan.attempts_per_task if plan else 0

    @property
    def settled(self) -> int:
        return sum(self.tally[status] for status in TERMINAL_ATTEMPT)

    @property
    def in_slots(self) -> int:
        return sum(self.tally[status] for status in IN_SLOT)

    def attempt(self, key: str) -> AttemptState:
        return self.attempts.get(key, NEW)

    def cells(self) -> Iterator[Cell]:
        """The matrix in dispatch order: task by task over the agents, so that all meet the same conditions."""
        if self.planned is None:
            return
        for task in range(self.planned.tasks):
            for number in range(1, self.planned.attempts_per_task + 1):
                for agent in range(self.planned.agents):
                    yield Cell(agent, task, number)

    def contains(self, key: str) -> bool:
        plan, cell = self.planned, Cell.parse(key)
        return plan is not None and (
            cell.agent < plan.agents and cell.task < plan.tasks and 1 <= cell.number <= plan.attempts_per_task
        )


def apply(state: RunState, record: Recorded) -> bool:
    """Fold one record in. False when it changed nothing: stale, repeated, or after the end."""
    if record.sequence <= state.last_sequence:
        return False
    state.last_sequence = record.sequence
    if record.writer == SCHEDULER:
        state.scheduler_sequence = record.sequence
    event = record.event
    if isinstance(event, AttemptCleaned):
        return _clean(state, event)
    if isinstance(event, OfAttempt):
        return _apply_attempt(state, event, record.sequence)
    changed = _apply_run(state, event, record.sequence)
    return _move(state, event.type, record.sequence) or changed


def _clean(state: RunState, event: AttemptCleaned) -> bool:
    """A worker that claimed and wasn't let in has nothing there; that it says so is not about the one that was."""
    key = event.attempt, event.epoch
    owner = state.sandboxes.get(key)
    if owner is None or event.worker not in {None, owner}:
        return False
    del state.sandboxes[key]
    return True


def _apply_attempt(state: RunState, event: AttemptEvent, sequence: int) -> bool:
    if not state.contains(event.attempt) or state.ended:
        return False
    before = state.attempt(event.attempt)
    after = evolve(before, event, sequence)
    if after is before:
        return False
    if isinstance(event, AttemptClaimed):
        state.sandboxes[event.attempt, event.epoch] = event.worker
        state.waiting = None
    _put(state, event.attempt, before, after)
    _move(state, event.type, sequence)
    return True


def _put(state: RunState, key: str, before: AttemptState, after: AttemptState) -> None:
    if key in state.attempts:
        state.tally[before.status] -= 1
    state.tally[after.status] += 1
    state.attempts[key] = after


def _move(state: RunState, event_type: str, sequence: int) -> bool:
    status = RUN_TABLE.get((state.status, event_type))
    if status is None:
        return False
    state.status, state.since = status, sequence
    return True


def _apply_run(state: RunState, event: object, sequence: int) -> bool:
    match event:
        case RunSubmitted() if state.submitted is None:
            state.submitted, state.since, state.submitted_sequence = event, sequence, sequence
        case RunPlanned() if state.planned is None and state.status is RunStatus.PENDING:
            state.planned = event
        case RunWaiting() if state.waiting != event.reason and not state.ended:
            state.waiting = event.reason or None
        case StopRequested() if state.stop is None and not state.ended:
            state.stop = event
        case AttemptCancelled() if not state.cancelled and not state.ended:
            state.cancelled = True
            _cancel_all(state, sequence)
        case RunFailed() if not state.ended:
            state.failure = event
        case RunStopped() if not state.ended and not state.cancelled:
            _cancel_all(state, sequence)
        case SandboxAbandoned() if event.worker not in state.abandoned:
            _abandon(state, event.worker)
        case RunCleaned() if state.ended and not state.cleaned:
            state.cleaned = True
        case _:
            return False
    return True


def _abandon(state: RunState, worker: str) -> None:
    state.abandoned.add(worker)
    state.sandboxes = {key: owner for key, owner in state.sandboxes.items() if owner != worker}


def _cancel_all(state: RunState, sequence: int) -> None:
    for cell in state.cells():
        key = str(cell)
        before = state.attempt(key)
        if before.status not in TERMINAL_ATTEMPT:
            _put(state, key, before, cancel(before, sequence))


def agent_status(state: RunState, agent: int) -> str:
    """An agent's status in its run: pending, running, finished, failed or stopped. Finished is: every attempt has an
    outcome and at least one counts."""
    of_agent = [attempt for key, attempt in state.attempts.items() if Cell.parse(key).agent == agent]
    plan = state.planned
    total = plan.tasks * plan.attempts_per_task if plan else 0
    if any(attempt.status is AttemptStatus.CANCELLED for attempt in of_agent):
        return "stopped"
    done = [attempt for attempt in of_agent if attempt.status in TERMINAL_ATTEMPT]
    if total and len(done) == total:
        return "finished" if any(attempt.counts for attempt in done) else "failed"
    if state.ended:
        return "stopped" if state.status is RunStatus.STOPPED else "failed"
    return "running" if of_agent else "pending"
