"""Runs and benchmarks folded from the log, for what must not wait for a read model."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from proctor.contracts import subjects
from proctor.contracts.folds import benchmark as benchmark_fold
from proctor.contracts.folds import run as run_fold
from proctor.contracts.folds.benchmark import BenchmarkState
from proctor.contracts.folds.run import RunState
from proctor.eventlog import EventLog

KEPT_RUNS: Final = 16
READ_SECONDS: Final = 10.0
"""A reader of the log waits for a bus that is away; a request must not. `TimeoutError` beyond it."""


@dataclass(frozen=True, slots=True)
class Folded[State]:
    """A state and when its first event was recorded."""

    state: State
    since: datetime


class RunFolds:
    """The last runs asked for stay folded, so that the next look reads only what is new."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._kept: OrderedDict[tuple[str, str], RunState] = OrderedDict()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    async def latest(self, workspace: str, run: str) -> RunState | None:
        """Everything of a run up to now; None for one that was never submitted. Read it before the next await."""
        key = (workspace, run)
        async with self._locks.setdefault(key, asyncio.Lock()):
            state = self._kept.get(key) or RunState(workspace=workspace, run=run)
            async with asyncio.timeout(READ_SECONDS):
                async for record in self._log.read(subjects.run_events(workspace, run), after=state.last_sequence):
                    run_fold.apply(state, record)
            if state.submitted is None:
                self._locks.pop(key, None)
                return None
            self._keep(key, state)
            return state

    def _keep(self, key: tuple[str, str], state: RunState) -> None:
        self._kept[key] = state
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_RUNS:
            dropped, _ = self._kept.popitem(last=False)
            self._locks.pop(dropped, None)


async def run_head(log: EventLog, workspace: str, run: str) -> Folded[RunState] | None:
    """A run without its attempts: what was submitted, planned and decided about it as a whole."""
    state, since = RunState(workspace=workspace, run=run), None
    async with asyncio.timeout(READ_SECONDS):
        async for record in log.read(f"ev.{workspace}.run.{run}.*.run.>"):
            since = since or record.recorded_at
            run_fold.apply(state, record)
    return Folded(state, since) if since is not None and state.submitted is not None else None


async def benchmark_head(log: EventLog, workspace: str, benchmark: str) -> Folded[BenchmarkState] | None:
    state, since = BenchmarkState(workspace=workspace, benchmark=benchmark), None
    async with asyncio.timeout(READ_SECONDS):
        async for record in log.read(subjects.benchmark_events(workspace, benchmark)):
            since = since or record.recorded_at
            benchmark_fold.apply(state, record)
    return Folded(state, since) if since is not None and state.added is not None else None
