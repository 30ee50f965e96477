"""The gateway over a real socket, on real NATS and PostgreSQL, with the read models' tables but nobody who fills them
unless a test asks for the projection."""

import asyncio
import contextlib
import io
import sys
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from proctor.contracts.events import (
    ANY_EVENT,
    BenchmarkAdded,
    Event,
    RunCleaned,
    RunFinished,
    RunPlanned,
    RunSubmitted,
    Synced,
    SyncStarted,
)
from proctor.contracts.events.benchmark import BundledSource
from proctor.contracts.ids import new_id
from proctor.contracts.manifest import Manifest, ManifestTask, RunLock, TaskSet, UnavailableTask
from proctor.eventlog import EventLog, connect
from proctor.gateway.app import serve
from proctor.gateway.server import listen
from proctor.gateway.settings import GatewaySettings
from proctor.objects import Objects, artifact_name
from proctor.service.postgres import Connection, migrate, open_pool


def task(name: str, category: str | None = None, **fields: Any) -> ManifestTask:
    pinned = {"digest": "sha256:0", "package": "package/0", "environment_digest": "sha256:1"}
    return ManifestTask.model_validate({"name": name, "category": category, **pinned, **fields})


def tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return Manifest(
        version="sha256:abc",
        tasks=(
            task("acme/sort-numbers", "code"),
            task("acme/count-lines", "files"),
            task("acme/copy-file", "files", needed_variables=("API_KEY",)),
        ),
        unavailable=(UnavailableTask(name="acme/broken", reason="task.toml can't be read"),),
        task_sets=(TaskSet(name="parity", recommended=True, task_names=("acme/sort-numbers",)),),
    )


@dataclass(frozen=True)
class Gateway:
    """`client` is the owner in this test's workspace."""

    client: httpx.AsyncClient
    settings: GatewaySettings
    workspace: str
    log: EventLog
    objects: Objects
    database: Connection

    async def add_benchmark(self, manifest: Manifest, *, key: str = "acme/tiny", workspace: str | None = None) -> str:
        """A ready benchmark, as registry-sync would leave it in the log."""
        benchmark, place = new_id(), workspace or self.workspace
        added = BenchmarkAdded(
            benchmark=benchmark, key=key, name=f"Name of {key}", source=BundledSource(name="tiny"), added_by="owner"
        )
        name = await self.objects.put_once("manifest", manifest.model_dump_json().encode())
        synced = Synced(
            sync="first",
            version=manifest.version,
            manifest=name,
            tasks=len(manifest.tasks),
            unavailable=len(manifest.unavailable),
            categories=2,
        )
        writer = EventLog(self.log.connection, "registry-sync")
        await self.log.append(added, workspace=place, aggregate="benchmark", id=benchmark)
        await writer.append(SyncStarted(sync="first", total=3), workspace=place, aggregate="benchmark", id=benchmark)
        await writer.append(synced, workspace=place, aggregate="benchmark", id=benchmark)
        return benchmark

    async def insert_benchmark(self, manifest: Manifest) -> str:
        """The same as a row of the read model, for tests that nobody projects for."""
        benchmark = new_id()
        name = await self.objects.put_once("manifest", manifest.model_dump_json().encode())
        await self.database.execute(
            "INSERT INTO leaderboard.benchmarks (workspace, benchmark, key, name, managed, pass_threshold, source, "
            "status, sync_total, sync_done, version, manifest, added_by, added_at, updated_at, position) "
            "VALUES ($1, $2, 'acme/tiny', 'Tiny', false, 1.0, '{}', 'ready', 3, 3, $3, $4, 'owner', now(), now(), 1)",
            self.workspace,
            benchmark,
            manifest.version,
            name,
        )
        return benchmark

    async def plan(self, run: str, manifest: Manifest, agents: int = 1) -> int:
        """As the scheduler would: every task, once. Returns the sequence."""
        events = [record.event async for record in self.log.read(f"ev.{self.workspace}.run.{run}.*.run.submitted")]
        (submitted,) = events
        assert isinstance(submitted, RunSubmitted)
        lock = RunLock(
            proctor_version="0",
            benchmark=submitted.benchmark,
            benchmark_key=submitted.benchmark_key,
            version=submitted.version,
            task_set="full",
            pass_threshold="1",
            reward_key=None,
            config=submitted.config,
            tasks=manifest.tasks,
        )
        planned = RunPlanned(
            lock=await self.objects.put_once("lock", lock.model_dump_json().encode()),
            task_set="full",
            agents=agents,
            tasks=len(manifest.tasks),
            attempts_per_task=1,
            max_concurrent_attempts=4,
            max_retries=0,
        )
        return await self.append(run, "scheduler", planned)

    async def append(self, run: str, writer: str, event: Event | dict[str, Any]) -> int:
        log = EventLog(self.log.connection, writer)
        typed = ANY_EVENT.validate_python(event)
        return await log.append(typed, workspace=self.workspace, aggregate="run", id=run)

    async def error(self, run: str, manifest: Manifest, attempt: str, kind: str, message: str) -> int:
        """An attempt that its runner couldn't begin, not settled yet. Returns the last sequence."""
        about: dict[str, Any] = {"attempt": attempt, "epoch": 1}
        pinned = manifest.tasks[0].model_dump(include={"name", "digest", "package"})
        work = {"workspace": self.workspace, "run": run, "run_name": "n", **about, "task": pinned}
        work |= {"agent": {"index": 0, "harness": "oracle"}, "timeout_multiplier": 1.0, "lifetime": 60}
        await self.append(run, "scheduler", {"type": "attempt.dispatched", "pool": "default", "work": work, **about})
        claimed = {"type": "attempt.claimed", "worker": "runner-1", "incarnation": "i", "host": "h", **about}
        await self.append(run, "runner-1", claimed)
        errored = {"type": "attempt.errored", "phase": "setup", "kind": kind, "message": message, **about}
        return await self.append(run, "runner-1", errored)

    async def play(self, run: str, manifest: Manifest, passed: Sequence[bool]) -> int:
        """Plan the run, play an attempt of each task to its grade, and finish, as the services would write it.
        Returns the last sequence."""
        await self.plan(run, manifest)
        for task, verdict in enumerate(passed):
            attempt = f"0-{task}-1"
            artifact = artifact_name(run, attempt, 1, "agent")
            files = {"trace.txt": b"did it\n", "deep/raw.bin": b"\0\1", "caf\udce9.txt": b"au lait"}
            await self.objects.put(artifact, tar(files))
            about: dict[str, Any] = {"attempt": attempt, "epoch": 1}
            pinned = manifest.tasks[task].model_dump(include={"name", "digest", "package"})
            work: dict[str, Any] = {
                "workspace": self.workspace,
                "run": run,
                **about,
                "task": pinned,
                "timeout_multiplier": 1.0,
            }
            agent = {"index": 0, "harness": "oracle", "model": None}
            attempt_work = {**work, "run_name": "n", "agent": agent, "lifetime": 60}
            grade_work: dict[str, Any] = {
                **work,
                "round": 1,
                "sandbox": "s",
                "runner": "runner-1",
                "step": None,
                "threshold": "1",
            }
            grade_work["reward_key"] = None
            score = "1" if verdict else "0"
            steps: list[tuple[str, dict[str, Any]]] = [
                ("scheduler", {"type": "attempt.dispatched", "pool": "default", "work": attempt_work}),
                ("runner-1", {"type": "attempt.claimed", "worker": "runner-1", "incarnation": "i", "host": "h"}),
                (
                    "runner-1",
                    {
                        "type": "attempt.sandbox_ready",
                        "sandbox": "s",
                        "backend": "bubblewrap",
                        "image": "host",
                        "seconds": 0.1,
                    },
                ),
                ("runner-1", {"type": "attempt.agent_started"}),
                (
                    "runner-1",
                    {
                        "type": "attempt.agent_finished",
                        "seconds": 1.5,
                        "artifacts": {"object": artifact, "size": 1, "files": 2},
                    },
                ),
                (
                    "scheduler",
                    {
                        "type": "grade.dispatched",
                        "pool": "default",
                        "round": 1,
                        "work": grade_work,
                    },
                ),
                ("grader-1", {"type": "grade.claimed", "round": 1, "worker": "grader-1", "incarnation": "i"}),
                (
                    "grader-1",
                    {
                        "type": "attempt.graded",
                        "round": 1,
                        "rewards": {"reward": score},
                        "score": score,
                        "threshold": "1",
                        "passed": verdict,
                        "mode": "shared",
                        "seconds": {"startup": 0, "transfer": 0.1, "run": 0.2, "parse": 0},
                    },
                ),
                ("runner-1", {"type": "attempt.cleaned", "sandbox": "s"}),
            ]
            for writer, event in steps:
                await self.append(run, writer, {**event, **about})
        ended = RunFinished(passed=sum(passed), failed=len(passed) - sum(passed), errored=0, cancelled=0)
        await self.append(run, "scheduler", ended)
        return await self.append(run, "scheduler", RunCleaned())

    async def until(self, path: str, **expected: Any) -> dict[str, Any]:
        """The answer once it has those values."""
        async with asyncio.timeout(60):
            while True:
                answer = await self.client.get(path)
                if answer.is_success and all(answer.json()[key] == value for key, value in expected.items()):
                    return answer.json()
                await asyncio.sleep(0.05)


type Start = Callable[[str], AbstractAsyncContextManager[Gateway]]


@pytest.fixture
async def start_gateway(tmp_path: Path, database_url: str, workspace: str, monkeypatch: pytest.MonkeyPatch) -> Start:
    """A gateway on the bus at that address, with this test's database and home."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROCTOR_DATABASE_URL", database_url)
    monkeypatch.setenv("PROCTOR_UPLOAD_BYTES", str(1024**2))
    pool = await open_pool(database_url)
    await migrate(pool, "proctor.leaderboard", "leaderboard")
    await pool.close()

    @contextlib.asynccontextmanager
    async def start(nats_url: str) -> AsyncGenerator[Gateway]:
        monkeypatch.setenv("PROCTOR_NATS_URL", nats_url)
        settings = GatewaySettings()
        stop, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(settings, listener, stop))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            alive = asyncio.create_task(client.get("/healthz"))
            await asyncio.wait([alive, serving], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            token = (tmp_path / "home" / "token").read_text().strip()
            client.headers.update({"Authorization": f"Bearer {token}", "Proctor-Workspace": workspace})
            database, bus = await asyncpg.connect(database_url), await connect(nats_url, "test")
            await database.execute("INSERT INTO gateway.workspaces (id, name) VALUES ($1, $1)", workspace)
            await database.execute(
                "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, 'owner', 'owner')", workspace
            )
            yield Gateway(client, settings, workspace, EventLog(bus, "gateway"), Objects(bus), database)
            await bus.close()
            await database.close()
        stop.set()
        await asyncio.wait_for(serving, 15)

    return start


@pytest.fixture
async def gateway(start_gateway: Start, nats_url: str) -> AsyncIterator[Gateway]:
    async with start_gateway(nats_url) as started:
        yield started


@pytest.fixture
def osmosis(gateway: Gateway) -> Gateway:
    """The gateway with a client that sends what the osmosis command sends."""
    ours = {"X-Osmosis-Workspace": gateway.workspace, "X-Osmosis-CLI-Version": "0.3.8"}
    gateway.client.headers.update({"Content-Type": "application/json", **ours})
    return gateway


@pytest.fixture
async def projection(gateway: Gateway, tmp_path: Path) -> AsyncIterator[None]:
    """The real leaderboard service beside it, once it reads the log."""
    errors = tmp_path / "leaderboard.log"
    with errors.open("w") as file:
        process = await asyncio.create_subprocess_exec(sys.executable, "-m", "proctor.leaderboard", stderr=file)
    while not (await gateway.client.get("/readyz")).json()["checks"]["projection"]["ok"]:
        assert process.returncode is None, errors.read_text()
        await asyncio.sleep(0.05)
    yield
    assert process.returncode is None, errors.read_text()
    process.terminate()
    await process.wait()
