"""A run's state. `apply` takes its events in log order; repeats and what comes of past epochs change nothing."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from proctor.contracts.events import (
    AgentFinished,
    AgentStopRequested,
    AttemptCancelled,
    AttemptClaimed,
    AttemptCleaned,
    AttemptDispatched,
    BudgetReached,
    LeaseLost,
    ResultsReused,
    RetryRequested,
    RunCleaned,
    RunFailed,
    RunFinished,
    RunPaused,
    RunPlanned,
    RunResumed,
    RunStopped,
    RunSubmitted,
    RunWaiting,
    SandboxAbandoned,
    StopRequested,
)
from proctor.contracts.events.attempt import AttemptEvent, OfAttempt
from proctor.contracts.folds.attempt import NEW, AttemptState, cancel, evolve, taken_over
from proctor.contracts.ids import Cell
from proctor.contracts.metering import SandboxRates, sandbox_cost
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
DEAREST_USD = 1e6
"""What a try can't have cost: a harness that says so is not believed."""
TAKEN_OVER = {"p": AttemptStatus.PASSED, "f": AttemptStatus.FAILED}


@dataclass(slots=True)
class RunState:
    """`attempts` holds those that have left `planned`; `sandboxes` maps (attempt, epoch) to the worker that may
    still have one. `scheduler_sequence` is what the scheduler's next decision is guarded with. `agent_stops` maps an
    agent to why it is to stop, `agents_cancelled` has those that did. `dispatches` leaves lost ones out."""

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
    paused: RunPaused | None = None
    budget_reached: BudgetReached | None = None
    reused: ResultsReused | None = None
    agent_stops: dict[int, str] = field(default_factory=dict[int, str])
    agents_cancelled: set[int] = field(default_factory=set[int])
    dispatches: int = 0
    llm_usd: float = 0.0
    sandbox_usd: float = 0.0
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
    def awaits_reuse(self) -> bool:
        """Whether results of another run are still to be taken over, before anything is dispatched."""
        return self.submitted is not None and self.submitted.reuse and self.reused is None

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
    state.sandbox_usd += sandbox_cost(event.use, state.submitted.rates if state.submitted else SandboxRates())
    return True


def _apply_attempt(state: RunState, event: AttemptEvent, sequence: int) -> bool:
    if not state.contains(event.attempt) or state.ended:
        return False
    if isinstance(event, RetryRequested) and _ending(state, event):
        return False
    before = state.attempt(event.attempt)
    after = evolve(before, event, sequence)
    if after is before:
        return False
    _account(state, event)
    _put(state, event.attempt, before, after)
    _move(state, event.type, sequence)
    return True


def _ending(state: RunState, event: RetryRequested) -> bool:
    """Whether nothing more of the attempt's run or agent will be dispatched."""
    stopping = state.stop is not None or state.cancelled or state.budget_reached is not None
    return stopping or Cell.parse(event.attempt).agent in state.agent_stops


def _account(state: RunState, event: AttemptEvent) -> None:
    match event:
        case AttemptDispatched():
            state.dispatches += 1
        case LeaseLost():
            state.dispatches -= 1
        case AttemptClaimed():
            state.sandboxes[event.attempt, event.epoch] = event.worker
            state.waiting = None
        case AgentFinished() if event.usage.cost_usd is not None and 0 <= event.usage.cost_usd <= DEAREST_USD:
            state.llm_usd += event.usage.cost_usd
        case _:
            return


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
        case AttemptCancelled() if event.agent is None and not state.cancelled and not state.ended:
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
            return not state.ended and _control(state, event, sequence)
    return True


def _control(state: RunState, event: object, sequence: int) -> bool:
    """What people and budgets want of a run that goes on."""
    match event:
        case AgentStopRequested() if event.agent not in state.agent_stops:
            state.agent_stops[event.agent] = event.reason
        case AttemptCancelled() if event.agent is not None and event.agent not in state.agents_cancelled:
            state.agents_cancelled.add(event.agent)
            _cancel_all(state, sequence, event.agent)
        case RunPaused() if state.paused is None:
            state.paused = event
        case RunResumed() if state.paused is not None:
            state.paused = None
        case BudgetReached() if state.budget_reached is None:
            state.budget_reached = event
        case RunFinished():
            # an attempt that was asked for again while the run was about to finish
            _cancel_all(state, sequence)
        case ResultsReused() if state.planned is not None and state.reused is None:
            state.reused = event
            _take_over(state, event, state.planned, sequence)
        case _:
            return False
    return True


def _abandon(state: RunState, worker: str) -> None:
    state.abandoned.add(worker)
    state.sandboxes = {key: owner for key, owner in state.sandboxes.items() if owner != worker}


def _cancel_all(state: RunState, sequence: int, agent: int | None = None) -> None:
    for cell in state.cells():
        key = str(cell)
        before = state.attempt(key)
        if agent in {None, cell.agent} and before.status not in TERMINAL_ATTEMPT:
            _put(state, key, before, cancel(before, sequence))


def reused_cells(plan: RunPlanned, event: ResultsReused) -> Iterator[tuple[Cell, Cell, AttemptStatus]]:
    """(cell of this run, cell of the source, outcome) of each result that is taken over."""
    for agent, outcomes in enumerate(event.outcomes):
        for place, outcome in enumerate(outcomes):
            task, number = place // plan.attempts_per_task, place % plan.attempts_per_task + 1
            source_agent, source_task = event.agents[agent], event.tasks[task]
            if outcome in TAKEN_OVER and source_agent is not None and source_task is not None:
                yield Cell(agent, task, number), Cell(source_agent, source_task, number), TAKEN_OVER[outcome]


def _take_over(state: RunState, event: ResultsReused, plan: RunPlanned, sequence: int) -> None:
    for cell, _, outcome in reused_cells(plan, event):
        key = str(cell)
        if state.contains(key) and key not in state.attempts:
            _put(state, key, NEW, taken_over(outcome, sequence))


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
