"""The gateway over a real socket, on real NATS and PostgreSQL, with the read models' tables but nobody who fills them
unless a test asks for the projection."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from nats.aio.client import Client

from proctor.contracts.events import BenchmarkAdded, Synced, SyncStarted
from proctor.contracts.events.benchmark import BundledSource
from proctor.contracts.ids import new_id
from proctor.contracts.manifest import Manifest, ManifestTask, TaskSet, UnavailableTask
from proctor.eventlog import EventLog
from proctor.gateway.app import serve
from proctor.gateway.server import listen
from proctor.gateway.settings import GatewaySettings
from proctor.objects import Objects
from proctor.service.postgres import Connection, migrate, open_pool


def task(name: str, category: str | None = None, **fields: Any) -> ManifestTask:
    pinned = {"digest": "sha256:0", "package": "package/0", "environment_digest": "sha256:1"}
    return ManifestTask.model_validate({"name": name, "category": category, **pinned, **fields})


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
    stop: asyncio.Event
    task: asyncio.Task[None]

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

    async def until(self, path: str, **expected: Any) -> dict[str, Any]:
        """The answer once it has those values."""
        for _ in range(200):
            answer = await self.client.get(path)
            if answer.is_success and all(answer.json()[key] == value for key, value in expected.items()):
                return answer.json()
            await asyncio.sleep(0.05)
        raise AssertionError(f"{path} never became {expected}: {answer.text}")


@pytest.fixture
async def gateway(
    tmp_path: Path, nats_url: str, database_url: str, bus: Client, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Gateway]:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROCTOR_NATS_URL", nats_url)
    monkeypatch.setenv("PROCTOR_DATABASE_URL", database_url)
    pool = await open_pool(database_url)
    await migrate(pool, "proctor.leaderboard", "leaderboard")
    await pool.close()
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
        database = await asyncpg.connect(database_url)
        await database.execute("INSERT INTO gateway.workspaces (id, name) VALUES ($1, $1)", workspace)
        await database.execute(
            "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, 'owner', 'owner')", workspace
        )
        yield Gateway(client, settings, workspace, EventLog(bus, "gateway"), Objects(bus), database, stop, serving)
        await database.close()
    stop.set()
    await asyncio.wait_for(serving, 15)


@pytest.fixture
async def projection(gateway: Gateway) -> AsyncIterator[None]:
    """The real leaderboard service beside it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "proctor.leaderboard",
        env={**os.environ},
        stderr=asyncio.subprocess.DEVNULL,
    )
    yield
    process.terminate()
    await process.wait()
