"""The active scheduler: folds the log, appends what follows, and answers workers. All its I/O is here."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

import nats.errors
from nats.js.errors import APIError, NoStreamResponseError
from pydantic_core import to_json

from proctor.contracts import subjects
from proctor.contracts.events import (
    AttemptCancelled,
    AttemptDispatched,
    GradeDispatched,
    RunEvent,
    RunFailed,
    RunSubmitted,
    RunWaiting,
)
from proctor.contracts.folds import run as runs
from proctor.contracts.folds.run import RunState
from proctor.contracts.manifest import Manifest, RunLock
from proctor.contracts.messages import Beat, LeaseOrder
from proctor.contracts.records import Recorded
from proctor.contracts.states import HELD_BY_RUNNER, AttemptStatus
from proctor.eventlog import Conflict, EventLog, Unavailable
from proctor.eventlog.streams import open_runs
from proctor.objects import ObjectMissing, Objects
from proctor.scheduler import allocate, budget, expire, orders, react
from proctor.scheduler.fleet import Fleet
from proctor.scheduler.ledger import Ledger
from proctor.scheduler.plan import PlanError, make_lock, planned
from proctor.scheduler.reuse import reuse
from proctor.scheduler.track import Track, month_of

logger = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
WAITING_SECONDS: Final = 2.0

SendOrder = Callable[[str, LeaseOrder], Awaitable[None]]


class Engine:
    """`position` is the last sequence folded; `beats` those heard since the last tick."""

    def __init__(self, log: EventLog, objects: Objects, send: SendOrder) -> None:
        self._log, self._objects, self._send = log, objects, send
        self.tracks: dict[str, Track] = {}
        self.fleet = Fleet()
        self.position = 0
        self._ledger = Ledger(log)
        self._beats: dict[str, Beat] = {}
        self._wake = asyncio.Event()
        self._passed = asyncio.Condition()

    # reading

    async def load(self) -> None:
        """Read every open run from its beginning."""
        start = await self._log.last_sequence()
        for workspace, run in await open_runs(self._log.connection):
            track = Track(RunState(workspace, run))
            async for record in self._log.read(subjects.run_events(workspace, run)):
                runs.apply(track.state, record)
                if isinstance(record.event, RunSubmitted):
                    track.month = month_of(record)
            track.adopt(time.monotonic())
            await self._load_lock(track)
            self._expect_workers(track)
            self.tracks[run] = track
        self.position = start

    async def follow(self) -> None:
        async for batch in self._log.follow(subjects.RUN_EVENTS, after=self.position):
            for record in batch:
                await self._take(record)
            async with self._passed:
                self.position = batch[-1].sequence
                self._passed.notify_all()
            self._wake.set()

    async def passed(self, sequence: int, seconds: float) -> bool:
        """Wait until the fold has seen a sequence."""
        try:
            async with asyncio.timeout(seconds), self._passed:
                await self._passed.wait_for(lambda: self.position >= sequence)
        except TimeoutError:
            return False
        return True

    async def _take(self, record: Recorded) -> None:
        track = self.tracks.get(record.id)
        if track is None:
            if not isinstance(record.event, RunSubmitted):
                return
            track = self.tracks[record.id] = Track(RunState(record.workspace, record.id))
        held = {key: track.state.attempt(key) for key in track.entered}
        track.apply(record, time.monotonic())
        for worker, order in orders.following(track.state, held, record):
            await self._send(worker, order)
        self._expect_workers(track)
        if track.state.cleaned:
            self._ledger.close(track)
            del self.tracks[record.id]

    def _expect_workers(self, track: Track) -> None:
        for key in track.entered:
            attempt = track.state.attempt(key)
            for worker in (attempt.worker, attempt.grader):
                if worker:
                    self.fleet.expect(worker)

    # deciding

    async def decide(self) -> None:
        """React to what was folded and let time pass, for ever."""
        last = time.monotonic()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._wake.wait()
            elapsed = time.monotonic() - last
            if elapsed >= TICK_SECONDS:
                last += elapsed
                await self._tick(elapsed)
            self._wake.clear()
            for track in list(self.tracks.values()):
                await self._contained(track, self._react(track))
            await self._dispatch()

    async def _contained(self, track: Track, step: Coroutine[Any, Any, object]) -> None:
        """A run that can't be decided on fails alone; a bus or store that is away is no reason to."""
        try:
            await step
        except (nats.errors.Error, APIError, NoStreamResponseError, OSError, TimeoutError) as error:
            logger.warning("run %s waits: %r", track.state.run, error)
        except Exception:
            logger.exception("run %s can't go on", track.state.run)
            reason = "the scheduler can't go on with this run; its log says why"
            if track.settled_down and not track.state.ended:
                failure = RunFailed(kind="scheduler_error", message=reason)
                await self._append(track, [AttemptCancelled(reason=reason), failure])

    async def _react(self, track: Track) -> None:
        if not track.settled_down:
            return
        state = track.state
        if state.submitted and state.planned is None and not state.ended and state.stop is None:
            await self._plan(track, state.submitted)
            return
        if track.lock is None and state.planned is not None:
            await self._load_lock(track)
        if state.submitted and track.lock and state.awaits_reuse and state.stop is None and not state.ended:
            await self._reuse(track, state.submitted, track.lock)
            return
        await self._account(track)
        reached = budget.reached(track.budget, budget.used_by(state), track.month_used)
        keys, track.changed = track.changed, set[str]()
        if not await self._append(track, react.react(state, track.lock, sorted(keys), reached)):
            track.changed |= keys

    async def _account(self, track: Track) -> None:
        limits = track.budget
        if track.month is None or limits is None or (limits.month_usd, limits.month_attempts) == (None, None):
            return
        await self._ledger.complete(track.month, list(self.tracks))
        track.month_used = self._ledger.used(track.month, self.tracks.values())

    async def _reuse(self, track: Track, submitted: RunSubmitted, lock: RunLock) -> None:
        """A source that is gone has nothing to take over."""
        decided_at = track.state.scheduler_sequence
        source = RunState(track.state.workspace, submitted.rerun_of or "")
        async for record in self._log.read(subjects.run_events(source.workspace, source.run)):
            runs.apply(source, record)
        locked = await self._read_lock(source) if source.planned else None
        await self._append(track, [reuse(submitted, lock, source, locked)], decided_at)

    async def _plan(self, track: Track, submitted: RunSubmitted) -> None:
        decided_at = track.state.scheduler_sequence
        try:
            lock = make_lock(submitted, await self._manifest(submitted))
        except PlanError as error:
            await self._append(track, [RunFailed(kind="planning_failed", message=str(error))], decided_at)
            return
        name = await self._objects.put_once("lock", to_json(lock.model_dump(mode="json")))
        track.lock = lock
        await self._append(track, [planned(lock, name)], decided_at)

    async def _manifest(self, submitted: RunSubmitted) -> Manifest:
        """Raises `PlanError` when it is gone or isn't one."""
        try:
            return Manifest.model_validate_json(await self._objects.get(submitted.manifest))
        except ObjectMissing:
            problem = "is no longer stored"
        except ValueError:
            logger.exception("manifest %s", submitted.manifest)
            problem = "can't be read"
        raise PlanError(f"the task list of version {submitted.version} {problem}: sync the benchmark again")

    async def _load_lock(self, track: Track) -> None:
        track.lock = await self._read_lock(track.state)

    async def _read_lock(self, state: RunState) -> RunLock | None:
        if state.planned is None:
            return None
        try:
            return RunLock.model_validate_json(await self._objects.get(state.planned.lock))
        except ObjectMissing:
            logger.error("the lock of run %s is gone from the object store", state.run)  # noqa: TRY400
            return None

    async def _append(self, track: Track, events: list[RunEvent], decided_at: int | None = None) -> bool:
        """In order, each guarded by the one before. False when another scheduler was quicker or the bus is away.
        `decided_at`: the guard's sequence at the decision, for one that took its time; the fold went on meanwhile."""
        state = track.state
        expected = state.scheduler_sequence if decided_at is None else decided_at
        for event in events:
            suffix = event.pool if isinstance(event, AttemptDispatched | GradeDispatched) else None
            try:
                expected = await self._log.append(
                    event,
                    workspace=state.workspace,
                    aggregate="run",
                    id=state.run,
                    expected=expected,
                    suffix=suffix,
                    cause=state.last_sequence,
                    patience=5,
                )
            except Conflict:
                logger.warning("another scheduler decided for run %s first", state.run)
                return False
            except Unavailable as error:
                logger.warning("run %s waits for the log: %s", state.run, error)
                return False
            track.awaited = expected
        return True

    # dispatching

    async def _dispatch(self) -> None:
        """One attempt of each run in turn for as long as there are free places."""
        now = time.monotonic()
        free = self._free(react.DEFAULT_POOL)
        for track in allocate.share(list(self.tracks.values()), free, now):
            await self._account(track)
            key = track.next_attempt(now)
            if key is not None and track.lock is not None and track.slots() > 0:
                await self._contained(track, self._dispatch_one(track, track.lock, key))
                free -= 1
        if free <= 0:
            await self._explain_waiting(now)

    async def _dispatch_one(self, track: Track, lock: RunLock, key: str) -> None:
        track.pending = True
        track.pending = await self._append(track, [react.dispatch(track.state, lock, key)])

    def _free(self, pool: str) -> int:
        held: Counter[str] = Counter()
        unclaimed = 0
        for track in self.tracks.values():
            for key in track.entered:
                attempt = track.state.attempt(key)
                unclaimed += attempt.status is AttemptStatus.DISPATCHED
                if attempt.status in HELD_BY_RUNNER and attempt.worker:
                    held[attempt.worker] += 1
        return self.fleet.capacity(pool, held) - unclaimed

    async def _explain_waiting(self, now: float) -> None:
        pool = react.DEFAULT_POOL
        reason = f"every place of pool {pool} is taken" if self.fleet.has_runner(pool) else f"no runner in pool {pool}"
        for track in list(self.tracks.values()):
            waits = track.slots() > 0 and not track.state.in_slots and track.next_attempt(now) is not None
            if waits and track.settled_down and now - track.moved > WAITING_SECONDS and track.state.waiting != reason:
                await self._append(track, [RunWaiting(reason=reason)])

    # time

    def heard(self, beat: Beat) -> None:
        known = self.fleet.workers.get(beat.worker)
        self.fleet.heard(beat)
        self._beats[beat.worker] = beat
        if known is None or known.beat is None or known.beat.capacity != beat.capacity:
            self._wake.set()

    async def _tick(self, seconds: float) -> None:
        if not self._log.connection.is_connected:
            return
        for worker in self.fleet.tick(seconds):
            logger.warning("%s is silent: what it held is dispatched again", worker.name)
        beats, self._beats = self._beats, {}
        now = time.monotonic()
        for track in list(self.tracks.values()):
            await self._contained(track, self._expire(track, beats.values(), now))

    async def _expire(self, track: Track, beats: Iterable[Beat], now: float) -> None:
        if not track.settled_down:
            return
        events = expire.expired(track, now) + expire.orphaned(track, self.fleet.workers)
        for beat in beats:
            events += expire.unheld(track, beat, now)
        await self._append(track, events)
