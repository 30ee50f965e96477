"""Runs of the oracle through the platform: the wall time of each attempt, and where it goes, by the bus's clock."""

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

import psutil
from pieces import Pieces, platform
from report import Row, row
from trivial import ATTEMPTS, NAMES, write_tasks

from proctor.contracts import subjects
from proctor.contracts.config import RunConfig
from proctor.contracts.events import AttemptGraded, BenchmarkAdded, RunSubmitted, Synced, SyncFailed
from proctor.contracts.events.attempt import OfAttempt
from proctor.contracts.events.benchmark import UploadSource
from proctor.eventlog import EventLog
from proctor.objects import Objects
from proctor.tasks import pack_dataset

CONCURRENCY = (1, 2, 4)
PHASES = {
    "claim": ("attempt.dispatched", "attempt.claimed"),
    "sandbox": ("attempt.claimed", "attempt.sandbox_ready"),
    "setup": ("attempt.sandbox_ready", "attempt.agent_started"),
    "agent": ("attempt.agent_started", "attempt.agent_finished"),
    "grade dispatch": ("attempt.agent_finished", "grade.dispatched"),
    "grade claim": ("grade.dispatched", "grade.claimed"),
    "grade": ("grade.claimed", "attempt.graded"),
    "clean up": ("attempt.graded", "attempt.cleaned"),
}
Moments = Mapping[str, Mapping[str, datetime]]


async def measure(backend: str, network: str = "public") -> list[Row]:
    """One run to warm up, which builds the images, then one for each concurrency."""
    name = f"proctor, {backend}" + ("" if network == "public" else f", {network}")
    rows = list[Row]()
    async with platform(backend) as pieces:
        log, objects = EventLog(pieces.connection, "gateway"), Objects(pieces.connection)
        synced = await _benchmark(pieces, log, objects, network)
        await _run(log, synced, "warm", 4, attempts=1)
        for concurrent in CONCURRENCY:
            before = _cpu(pieces)
            moments = await _run(log, synced, f"n{concurrent}", concurrent)
            used = {one: round((spent - before[one]) / len(moments), 4) for one, spent in _cpu(pieces).items()}
            rows += _rows(f"{name}, n={concurrent}", moments, used)
    return rows


async def _benchmark(pieces: Pieces, log: EventLog, objects: Objects, network: str) -> Synced:
    name = await objects.put_once("upload", pack_dataset(write_tasks(pieces.folder / "tasks", network=network)))
    added = BenchmarkAdded(
        benchmark="bench",
        key="bench",
        name="bench",
        source=UploadSource(object=name, origin="bench"),
        added_by="bench",
    )
    await log.append(added, workspace="default", aggregate="benchmark", id="bench", alone=True)
    async for batch in log.follow(subjects.benchmark_events("default", "bench")):
        for record in batch:
            if isinstance(record.event, SyncFailed):
                raise RuntimeError(record.event.reason)  # noqa: TRY004
            if isinstance(record.event, Synced):
                return record.event
    raise AssertionError


async def _run(log: EventLog, synced: Synced, run: str, concurrent: int, attempts: int = ATTEMPTS) -> Moments:
    config = RunConfig.model_validate(
        {
            "experiment": {"benchmark": "bench"},
            "agents": [{"harness": "oracle"}],
            "execution": {"attempts_per_task": attempts, "max_concurrent_attempts": concurrent},
        }
    )
    submitted = RunSubmitted(
        run=run,
        name=run,
        benchmark="bench",
        benchmark_key="bench",
        benchmark_name="bench",
        version=synced.version,
        manifest=synced.manifest,
        pass_threshold="1.0",
        config=config,
        submitted_by="bench",
    )
    await log.append(submitted, workspace="default", aggregate="run", id=run, alone=True)
    async with asyncio.timeout(300):
        return await _followed(log, run, attempts * len(NAMES))


async def _followed(log: EventLog, run: str, expected: int) -> Moments:
    """When each event of each attempt was recorded. Raises unless all of them passed."""
    moments, passed = defaultdict[str, dict[str, datetime]](dict), 0
    async for batch in log.follow(subjects.run_events("default", run)):
        for record in batch:
            if isinstance(record.event, AttemptGraded):
                passed += record.event.passed
            if isinstance(record.event, OfAttempt):
                moments[record.event.attempt][record.event.type] = record.recorded_at
            if record.event.type == "run.cleaned":
                if passed != expected:
                    raise RuntimeError(f"{passed} of {expected} attempts passed")
                return moments
    raise AssertionError


def _cpu(pieces: Pieces) -> dict[str, float]:
    """Seconds of CPU so far, the children that ended included. The engine's own aren't among them."""
    times = {name: psutil.Process(process.pid).cpu_times() for name, process in pieces.processes.items()}
    return {name: one.user + one.system + one.children_user + one.children_system for name, one in times.items()}


def _rows(name: str, moments: Moments, cpu: Mapping[str, float]) -> list[Row]:
    """An attempt lasts from its dispatch until nothing is left of it. `cpu`: seconds of each process per attempt."""

    def between(begin: str, end: str) -> list[float]:
        return [(each[end] - each[begin]).total_seconds() for each in moments.values()]

    phases = {phase: round(statistics.median(between(*ends)), 4) for phase, ends in PHASES.items()}
    first = min(each["attempt.dispatched"] for each in moments.values())
    last = max(each["attempt.cleaned"] for each in moments.values())
    rate = 60 * len(moments) / (last - first).total_seconds()
    return [
        row(f"attempt, {name}", "s", between("attempt.dispatched", "attempt.cleaned"), phases=phases, cpu=cpu),
        row(f"attempt to its verdict, {name}", "s", between("attempt.dispatched", "attempt.graded")),
        Row(f"attempts, {name}", "1/min", len(moments), rate),
    ]
