"""Wiring: announces the bundled benchmarks and syncs whatever waits for it."""

import asyncio
import contextlib
import logging
import os
import shutil
from pathlib import Path

import nats.errors
from nats.js.errors import APIError, NoStreamResponseError

from proctor.contracts import subjects
from proctor.contracts.events import BenchmarkEvent, SyncFailed, SyncRequested
from proctor.contracts.folds.benchmark import BenchmarkState, apply
from proctor.contracts.ids import SYSTEM_WORKSPACE, short_id
from proctor.contracts.states import SyncStatus
from proctor.eventlog import Conflict, EventLog, Leadership, Unavailable
from proctor.objects import Objects
from proctor.registry_sync import bundled
from proctor.registry_sync.syncing import sync
from proctor.service.broker import answers, open_bus
from proctor.service.process import report_health, run_until
from proctor.service.settings import Settings
from proctor.tasks import load_dataset

logger = logging.getLogger(__name__)

_PASSING = (Unavailable, nats.errors.Error, APIError, NoStreamResponseError, TimeoutError)
"""The bus is away, and with it whoever could be told."""
_OWN_FAULT = "Proctor failed at it, not the source: the log of registry-sync says where; try again after an upgrade"

WAITING = frozenset({SyncStatus.PENDING, SyncStatus.SYNCING})


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Stand by until this process leads, then sync until stopped."""
    connection = await open_bus(settings.nats_url, "registry-sync", stop)
    leadership = Leadership(connection, "registry-sync", f"{settings.host}-{os.getpid()}-{short_id()}")
    registry = Registry(EventLog(connection, "registry-sync"), Objects(connection), settings.home / "sync")

    async def lead() -> None:
        await leadership.acquired()
        await run_until(leadership.lost, registry.run(), leadership.keep())
        raise RuntimeError("another registry-sync took over; starting again as its stand-by")

    try:
        await run_until(stop, lead(), report_health(settings, lambda: answers(connection)))
    finally:
        await leadership.release()
        await connection.close()


class Registry:
    """Every benchmark's state, and the syncs under way, one at a time for each. `scratch` is its own: what one that
    was killed left there goes at the start."""

    def __init__(self, log: EventLog, objects: Objects, scratch: Path) -> None:
        self._log, self._objects, self._scratch = log, objects, scratch
        self._states: dict[tuple[str, str], BenchmarkState] = {}
        self._syncs: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def run(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)
        try:
            await self._run()
        finally:
            syncs = list(self._syncs.values())
            for task in syncs:
                task.cancel()
            await asyncio.gather(*syncs, return_exceptions=True)

    async def _run(self) -> None:
        position = await self._log.last_sequence()
        async for record in self._log.read(subjects.BENCHMARK_EVENTS):
            apply(self._state(record.workspace, record.id), record)
        for name in bundled.BUNDLED:
            with contextlib.suppress(Conflict):  # whoever announced it first did as well
                await self._announce(name)
        self._start_waiting()
        async for batch in self._log.follow(subjects.BENCHMARK_EVENTS, after=position):
            for record in batch:
                apply(self._state(record.workspace, record.id), record)
            self._start_waiting()

    def _state(self, workspace: str, benchmark: str) -> BenchmarkState:
        return self._states.setdefault((workspace, benchmark), BenchmarkState(workspace, benchmark))

    async def _announce(self, name: str) -> None:
        """Add a bundled benchmark once, and sync it again when its content changed with an upgrade."""
        state = self._state(SYSTEM_WORKSPACE, name)
        if state.added is None:
            await self._append(state, bundled.announcement(name), state.writer_sequence)
            return
        digest = (await asyncio.to_thread(load_dataset, bundled.folder(name))).digest
        if state.version is None or state.version.version != digest:
            source = bundled.announcement(name).source
            again = SyncRequested(sync=short_id(), source=source, requested_by="proctor")
            await self._append(state, again, state.writer_sequence)

    def _start_waiting(self) -> None:
        for key, state in self._states.items():
            running = self._syncs.get(key)
            idle = running is None or running.done()
            if idle and state.source is not None and state.status in WAITING:
                self._syncs[key] = asyncio.create_task(self._sync(state))

    async def _sync(self, state: BenchmarkState) -> None:
        """Each event is guarded by the one before, so that of two syncs at once one ends."""
        wanted, expected = state.sync, state.writer_sequence
        try:
            async for event in sync(state, self._objects, self._scratch):
                expected = await self._append(state, event, expected)
                if state.sync != wanted:
                    break
        except Conflict:
            logger.warning("another registry-sync works on benchmark %s", state.benchmark)
        except _PASSING as error:
            logger.warning("the sync of benchmark %s begins again: %r", state.benchmark, error)
        except Exception:
            logger.exception("the sync of benchmark %s failed", state.benchmark)
            with contextlib.suppress(Conflict, Unavailable):
                await self._append(state, SyncFailed(sync=wanted, reason=_OWN_FAULT), expected)
        await asyncio.sleep(1 if state.status in WAITING else 0)
        self._syncs.pop((state.workspace, state.benchmark), None)
        self._start_waiting()

    async def _append(self, state: BenchmarkState, event: BenchmarkEvent, expected: int) -> int:
        state.writer_sequence = await self._log.append(
            event,
            workspace=state.workspace,
            aggregate="benchmark",
            id=state.benchmark,
            expected=expected,
        )
        return state.writer_sequence
