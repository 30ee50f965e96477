"""The read models as a projection: keeps open runs and benchmarks in memory, reads the others from the log."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from proctor.contracts import subjects
from proctor.contracts.events import ResultsReused, RunPlanned, RunSubmitted
from proctor.contracts.folds.benchmark import BenchmarkState
from proctor.contracts.folds.run import RunState
from proctor.contracts.manifest import RunLock
from proctor.contracts.records import Recorded
from proctor.eventlog import EventLog
from proctor.leaderboard.benchmark import BenchmarkModel
from proctor.leaderboard.entry import entries
from proctor.leaderboard.run import RunModel
from proctor.leaderboard.tables import Pending, write
from proctor.objects import Objects
from proctor.service.postgres import Connection
from proctor.service.projection import Key

RUN, BENCHMARK = "run", "benchmark"


class ReadModels:
    """A `proctor.service.projection.ReadModel`."""

    def __init__(self, log: EventLog, objects: Objects) -> None:
        self._log, self._objects = log, objects
        self._runs: dict[tuple[str, str], RunModel] = {}
        self._benchmarks: dict[tuple[str, str], BenchmarkModel] = {}
        self._pending = Pending()

    async def apply(self, record: Recorded) -> None:
        if record.aggregate == RUN:
            await self._of_run(record)
        elif record.aggregate == BENCHMARK:
            await self._of_benchmark(record)

    async def write(self, connection: Connection) -> None:
        pending, self._pending = self._pending, Pending()
        await write(connection, pending)

    def forget(self, key: Key | None) -> None:
        self._pending = Pending()
        if key is None:
            self._runs.clear()
            self._benchmarks.clear()
        else:
            workspace, _, identifier = key
            self._runs.pop((workspace, identifier), None)
            self._benchmarks.pop((workspace, identifier), None)

    async def _of_run(self, record: Recorded) -> None:
        key = (record.workspace, record.id)
        model = self._runs.get(key) or await self._read_run(record)
        self._runs[key] = model
        changes = model.step(record, await self._lock(record), await self._source(record))
        if model.state.cleaned:
            del self._runs[key]
        if changes is None:
            return
        pending = self._pending
        pending.runs[key] = model
        pending.log.append(changes.log)
        for result, replaces in changes.results:
            pending.add(result, replaces=replaces)
        if changes.ended:
            pending.entries.extend(entries(model))

    async def _read_run(self, record: Recorded) -> RunModel:
        """The run as it was before the record. Nothing comes before its submission."""
        model = RunModel(RunState(record.workspace, record.id))
        if not isinstance(record.event, RunSubmitted):
            async for earlier in self._before(record, subjects.run_events(record.workspace, record.id)):
                model.step(earlier, await self._lock(earlier), await self._source(earlier))
        return model

    async def _source(self, record: Recorded) -> RunModel | None:
        """The run whose results are taken over, as it was when that was decided."""
        event = record.event
        if not isinstance(event, ResultsReused) or event.count == 0:
            return None
        model = RunModel(RunState(record.workspace, event.source))
        async with aclosing(self._log.read(subjects.run_events(record.workspace, event.source))) as records:
            async for earlier in records:
                if earlier.sequence > event.position:
                    break
                model.step(earlier, await self._lock(earlier), await self._source(earlier))
        return model

    async def _of_benchmark(self, record: Recorded) -> None:
        key = (record.workspace, record.id)
        model = self._benchmarks.get(key) or await self._read_benchmark(record)
        self._benchmarks[key] = model
        if model.step(record):
            self._pending.benchmarks[key] = model

    async def _read_benchmark(self, record: Recorded) -> BenchmarkModel:
        model = BenchmarkModel(BenchmarkState(record.workspace, record.id))
        async for earlier in self._before(record, subjects.benchmark_events(record.workspace, record.id)):
            model.step(earlier)
        return model

    async def _before(self, record: Recorded, pattern: str) -> AsyncIterator[Recorded]:
        async with aclosing(self._log.read(pattern)) as records:
            async for earlier in records:
                if earlier.sequence >= record.sequence:
                    return
                yield earlier

    async def _lock(self, record: Recorded) -> RunLock | None:
        if not isinstance(record.event, RunPlanned):
            return None
        return RunLock.model_validate_json(await self._objects.get(record.event.lock))
