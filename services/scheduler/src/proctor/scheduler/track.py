"""One open run as the scheduler follows it: the fold, its lock, and what is due on this process's clock."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from proctor.contracts.events import AttemptCancelled, AttemptDispatched, Budget, RunSubmitted
from proctor.contracts.folds import run as runs
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.folds.run import RunState
from proctor.contracts.ids import Cell
from proctor.contracts.manifest import RunLock
from proctor.contracts.records import Recorded
from proctor.contracts.states import IN_SLOT, AttemptStatus
from proctor.scheduler.budget import Used, room, used_by

Month = tuple[str, str]
"""(workspace, year and month): where what a run uses is counted."""


def month_of(record: Recorded) -> Month:
    """By the bus's clock."""
    return record.workspace, f"{record.recorded_at:%Y-%m}"


@dataclass(slots=True)
class Track:
    """`awaited`: the sequence of our last append; nothing is decided before the fold has reached it. `entered`:
    when an attempt in a slot came into its state; `due`: when a retry may start (monotonic seconds). `served`: the
    sequence of the run's last dispatch. `month_used`: what the month it counts in has used, where that is limited.
    `pending`: a dispatch is written and not folded yet."""

    state: RunState
    lock: RunLock | None = None
    awaited: int = 0
    served: int = 0
    planning: bool = False
    changed: set[str] = field(default_factory=set[str])
    again: deque[str] = field(default_factory=deque[str])
    due: dict[str, float] = field(default_factory=dict[str, float])
    entered: dict[str, float] = field(default_factory=dict[str, float])
    since: float = 0.0
    moved: float = 0.0
    month: Month | None = None
    month_used: Used = field(default_factory=Used)
    pending: bool = False
    cells: Iterator[Cell] | None = None
    upcoming: str | None = None

    @property
    def settled_down(self) -> bool:
        """Whether the fold has seen all that we wrote."""
        return self.state.last_sequence >= self.awaited

    def apply(self, record: Recorded, now: float) -> tuple[str, AttemptState, AttemptState] | None:
        """Fold a record in. (key, before, after) when it changed an attempt."""
        key = getattr(record.event, "attempt", None)
        status = self.state.status
        before = self.state.attempt(key) if key else None
        accepted = runs.apply(self.state, record)
        if not accepted:
            return None
        if isinstance(record.event, RunSubmitted):
            self.month = month_of(record)
        if isinstance(record.event, AttemptDispatched):
            self.pending = False
        self.moved = now
        if self.state.status is not status or isinstance(record.event, AttemptCancelled):
            self.since = now
            self._forget_ended()
        if key is None or before is None or self.state.attempt(key) is before:
            return None
        after = self.state.attempt(key)
        self._follow(key, after, now)
        return key, before, after

    def _follow(self, key: str, after: AttemptState, now: float) -> None:
        self.changed.add(key)
        self.due.pop(key, None)
        if after.status in IN_SLOT:
            self.entered[key] = now
        else:
            self.entered.pop(key, None)
        if after.status is AttemptStatus.DISPATCHED:
            self.served = max(self.served, after.since)
        elif after.status is AttemptStatus.RETRY_WAIT:
            self.due[key] = now + after.delay
        elif after.status is AttemptStatus.PLANNED:
            self.again.append(key)

    def _forget_ended(self) -> None:
        attempt = self.state.attempt
        self.entered = {key: at for key, at in self.entered.items() if attempt(key).status in IN_SLOT}
        self.due = {key: at for key, at in self.due.items() if attempt(key).status is AttemptStatus.RETRY_WAIT}

    def adopt(self, now: float) -> None:
        """Take up a run whose log was read from its beginning."""
        self.since = self.moved = now
        for key, attempt in self.state.attempts.items():
            self._follow(key, attempt, now)

    def next_attempt(self, now: float) -> str | None:
        """The attempt to dispatch next: what was lost, then what is due again, then the matrix in its order."""
        while self.again:
            if self.state.attempt(self.again[0]).status is AttemptStatus.PLANNED:
                return self.again[0]
            self.again.popleft()
        ready = min(((moment, key) for key, moment in self.due.items() if moment <= now), default=None)
        if ready is not None:
            return ready[1]
        return self._fresh()

    def _fresh(self) -> str | None:
        if self.cells is None:
            self.cells = self.state.cells()
        while self.upcoming is None or self.upcoming in self.state.attempts:
            cell = next(self.cells, None)
            if cell is None:
                self.upcoming = None
                return None
            self.upcoming = str(cell)
        return self.upcoming

    def slots(self) -> int:
        """How many more of the run's attempts may be under way."""
        plan, state = self.state.planned, self.state
        if plan is None or state.ended or state.stop is not None or state.cancelled:
            return 0
        if state.paused is not None or state.budget_reached is not None or state.awaits_reuse:
            return 0
        allowed = max(room(self.budget, used_by(state), self.month_used), self._lost())
        return int(min(plan.max_concurrent_attempts - self._busy(), allowed))

    def _lost(self) -> int:
        return sum(self.state.attempt(key).status is AttemptStatus.PLANNED for key in set(self.again))

    def _busy(self) -> int:
        """Under a limit in dollars a place is free only when it is known what its sandbox cost."""
        limits = self.budget
        if limits is None or (limits.usd, limits.month_usd) == (None, None):
            return self.state.in_slots
        return max(self.state.in_slots, len(self.state.sandboxes))

    @property
    def budget(self) -> Budget | None:
        return self.state.submitted.budget if self.state.submitted else None
