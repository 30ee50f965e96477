"""A run as its read models show it. Pure: `step` takes one record and says which rows are new."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from proctor.contracts.catalogue import CATALOGUE, level_of
from proctor.contracts.entrant import agent_name
from proctor.contracts.events import (
    AgentFinished,
    AttemptCancelled,
    AttemptCleaned,
    ResultsReused,
    RunFailed,
    RunFinished,
    RunPlanned,
    RunStopped,
    RunSubmitted,
    SandboxReady,
)
from proctor.contracts.events.attempt import AttemptEvent, OfAttempt
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.folds.run import RunState, apply, reused_cells
from proctor.contracts.ids import Cell
from proctor.contracts.manifest import ManifestTask, RunLock
from proctor.contracts.records import Recorded
from proctor.contracts.states import TERMINAL_ATTEMPT, TERMINAL_RUN, AttemptStatus, RunStatus
from proctor.leaderboard.agent import AgentModel
from proctor.leaderboard.identity import Identities, identities
from proctor.leaderboard.result import Result, advance, cancelled, cleaned, taken_over

UNPLANNED = Identities((), ())
_CANCELLING = (AttemptCancelled, RunStopped, RunFinished)
_RECOUNTED = (*_CANCELLING, ResultsReused)
_OF_ALL_AGENTS = (RunSubmitted, RunPlanned, RunFailed, *_RECOUNTED)


@dataclass(frozen=True, slots=True)
class LogRow:
    """Columns of `log` in its order."""

    workspace: str
    run: str
    sequence: int
    type: str
    level: str
    step: str
    agent: int | None
    task: int | None
    attempt: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What one record makes new. `ended`: with this record the run has its final status."""

    log: LogRow
    results: tuple[tuple[Result, bool], ...] = ()
    """Each with whether it replaces an earlier version."""
    ended: bool = False


@dataclass(slots=True)
class RunModel:
    state: RunState
    tasks: tuple[ManifestTask, ...] = ()
    agents: tuple[AgentModel, ...] = ()
    names: Identities = UNPLANNED
    results: dict[str, Result] = field(default_factory=dict[str, Result])
    ready: dict[tuple[str, int], datetime] = field(default_factory=dict[tuple[str, int], datetime])
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cleaned_at: datetime | None = None
    position: int = 0

    def step(self, record: Recorded, lock: RunLock | None = None, source: "RunModel | None" = None) -> Changes | None:
        """Fold one record in; `lock` is the object that `run.planned` names, `source` the run that
        `run.results_reused` does, as it was then. None when it changed nothing."""
        state, event = self.state, record.event
        before = state.status
        earlier = state.attempts.get(event.attempt) if isinstance(event, OfAttempt) else None
        if not apply(state, record):
            return None
        self.position = record.sequence
        self._begin(record, lock)
        results = (*self._results(record), *self._taken_over(record, source))
        self._times(record, before)
        self._count(record, earlier)
        ended = before not in TERMINAL_RUN and state.ended
        return Changes(_log_row(record), results, ended)

    @property
    def expected_each(self) -> int:
        """Results asked of each agent; 0 before there is a plan."""
        plan = self.state.planned
        return plan.tasks * plan.attempts_per_task if plan else 0

    def _begin(self, record: Recorded, lock: RunLock | None) -> None:
        match record.event:
            case RunSubmitted() as event:
                self.submitted_at = record.recorded_at
                self.agents = tuple(AgentModel(agent_name(agent)) for agent in event.config.agents)
            case RunPlanned() as event:
                if lock is None or (len(lock.config.agents), len(lock.tasks)) != (event.agents, event.tasks):
                    raise ValueError(f"lock {event.lock} doesn't fit the plan of run {self.state.run}")
                self.tasks = lock.tasks
                self.agents = tuple(AgentModel(agent_name(agent)) for agent in lock.config.agents)
                self.names = identities([agent.name for agent in self.agents], [task.name for task in lock.tasks])
            case _:
                return

    def _results(self, record: Recorded) -> Iterator[tuple[Result, bool]]:
        """New versions of rows, kept here as well. A row begins with the first claim or the outcome."""
        event = record.event
        if isinstance(event, AttemptCleaned):
            yield from self._cleaned(event, record)
        elif isinstance(event, OfAttempt):
            yield from self._moved(event, record)
        elif isinstance(event, _CANCELLING):
            for key, after in self.state.attempts.items():
                if after.status is AttemptStatus.CANCELLED and after.since == record.sequence:
                    yield self._keep(cancelled(self._row(key), after, record))

    def _moved(self, event: AttemptEvent, record: Recorded) -> Iterator[tuple[Result, bool]]:
        after = self.state.attempts[event.attempt]
        if isinstance(event, SandboxReady):
            self.ready[event.attempt, event.epoch] = record.recorded_at
        known = event.attempt in self.results
        if known or event.type == "attempt.claimed" or after.status in TERMINAL_ATTEMPT:
            yield self._keep(advance(self._row(event.attempt), event, after, record))

    def _cleaned(self, event: AttemptCleaned, record: Recorded) -> Iterator[tuple[Result, bool]]:
        """As measured by the runner; of one that is gone by the bus's clock, from ready to cleaned."""
        since = self.ready.pop((event.attempt, event.epoch), None)
        row, submitted = self.results.get(event.attempt), self.state.submitted
        if row is None or submitted is None or (since is None and not event.use):
            return
        measured = sum(part.seconds for part in event.use)
        seconds = measured if event.use or since is None else (record.recorded_at - since).total_seconds()
        agent = self.agents[row.agent]
        agent.used(seconds, event.use, submitted.rates)
        agent.position = record.sequence
        yield self._keep(cleaned(row, seconds, event.use, record))

    def _taken_over(self, record: Recorded, source: "RunModel | None") -> Iterator[tuple[Result, bool]]:
        event, plan = record.event, self.state.planned
        if not isinstance(event, ResultsReused) or plan is None:
            return
        for cell, place, _ in reused_cells(plan, event):
            if source is None or str(place) not in source.results:
                raise ValueError(f"run {event.source} lacks the result {place} that run {self.state.run} takes over")
            self.agents[cell.agent].reused += 1
            yield self._keep(taken_over(self._row(str(cell)), source.results[str(place)], record))

    def _keep(self, row: Result) -> tuple[Result, bool]:
        replaces = row.attempt in self.results
        self.results[row.attempt] = row
        return row, replaces

    def _row(self, key: str) -> Result:
        known = self.results.get(key)
        if known is not None:
            return known
        cell = Cell.parse(key)
        task = self.tasks[cell.task]
        return Result(
            workspace=self.state.workspace,
            run=self.state.run,
            attempt=key,
            identity=self.names.of(cell),
            agent=cell.agent,
            task=cell.task,
            number=cell.number,
            task_name=task.name,
            category=task.category,
            difficulty=task.difficulty,
        )

    def _times(self, record: Recorded, before: RunStatus) -> None:
        status = self.state.status
        if status is RunStatus.RUNNING and self.started_at is None:
            self.started_at = record.recorded_at
        if self.state.ended and before not in TERMINAL_RUN:
            self.ended_at = record.recorded_at
        if self.state.cleaned and self.cleaned_at is None:
            self.cleaned_at = record.recorded_at

    def _count(self, record: Recorded, earlier: AttemptState | None) -> None:
        event = record.event
        if isinstance(event, OfAttempt):
            agent = self.agents[Cell.parse(event.attempt).agent]
            agent.position = record.sequence
            after = self.state.attempts[event.attempt]
            if after is not earlier:
                agent.move(earlier, after)
            if isinstance(event, AgentFinished):
                agent.report(event.usage)
        elif isinstance(event, _OF_ALL_AGENTS):
            for agent in self.agents:
                agent.position = record.sequence
            if isinstance(event, _RECOUNTED):
                self._recount()

    def _recount(self) -> None:
        for agent in self.agents:
            agent.tally.clear()
            agent.counted = 0
        for key, attempt in self.state.attempts.items():
            self.agents[Cell.parse(key).agent].move(None, attempt)


def _log_row(record: Recorded) -> LogRow:
    event = record.event
    key = event.attempt if isinstance(event, OfAttempt) else None
    cell = Cell.parse(key) if key else None
    return LogRow(
        workspace=record.workspace,
        run=record.id,
        sequence=record.sequence,
        type=event.type,
        level=level_of(event).value,
        step=CATALOGUE[event.type].step.value,
        agent=cell.agent if cell else None,
        task=cell.task if cell else None,
        attempt=key,
    )
