"""The gateway as `proctor up` runs it, with its bus and its database, and a client that is the owner."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
from nats.aio.client import Client
from pieces import bus, free_port, services

from proctor.cli.platform.home import Home, open_home
from proctor.cli.platform.postgres import postgres_cluster
from proctor.cli.platform.program import spawn, stop
from proctor.service.postgres import Connection, migrate, open_pool

WARM_UP = 3
WORKSPACE = "default"
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Stage:
    client: httpx.AsyncClient
    database: Connection
    bus: Client

    async def get(self, path: str) -> httpx.Response:
        return await self.send("GET", path)

    async def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        answer = await self.client.request(method, path, json=body)
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.text}")
        return answer

    async def times(self, path: str, count: int) -> list[float]:
        """Milliseconds of each GET, one after the other, once it was asked for a few times."""
        return await times(lambda: self.get(path), count)


async def times(request: Callable[[], Awaitable[object]], count: int, warm_up: int = WARM_UP) -> list[float]:
    for _ in range(warm_up):
        await request()
    taken = list[float]()
    for _ in range(count):
        began = time.perf_counter()
        await request()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


@contextlib.asynccontextmanager
async def stage(*more: str) -> AsyncGenerator[Stage]:
    """`more` services run beside the gateway. The read models' tables are there in any case."""
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as place:
        home, port = open_home(Path(place)), free_port()
        async with bus(home.nats) as (connection, url, _), _database(home) as database_url:
            env = {
                **os.environ,
                "PROCTOR_NATS_URL": url,
                "PROCTOR_DATABASE_URL": database_url,
                "PROCTOR_HOME": place,
                "PROCTOR_PORT": str(port),
                "PROCTOR_RATE_SUBMITS": "0",
                "PROCTOR_SUPERVISED": "1",
            }
            with services(("gateway", *more), env, home.root):
                async with _client(home, port) as client, _connection(database_url) as database:
                    yield Stage(client, database, connection)


@contextlib.asynccontextmanager
async def _database(home: Home) -> AsyncGenerator[str]:
    cluster = postgres_cluster(home)
    process = await spawn(cluster.program, home)
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not await cluster.program.ready():
                await asyncio.sleep(0.1)
        pool = await open_pool(cluster.url)
        await migrate(pool, "proctor.leaderboard", "leaderboard")
        await pool.close()
        yield cluster.url
    finally:
        await stop(process, cluster.program.stop_signal, 20)
        cluster.forget_socket()


@contextlib.asynccontextmanager
async def _client(home: Home, port: int) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
        async with asyncio.timeout(_START_SECONDS):
            while not await _lives(client):
                await asyncio.sleep(0.1)
        token = home.token.read_text().strip()
        client.headers.update({"Authorization": f"Bearer {token}", "X-Osmosis-Workspace": WORKSPACE})
        yield client


async def _lives(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/healthz")).is_success
    except httpx.TransportError:
        return False


@contextlib.asynccontextmanager
async def _connection(url: str) -> AsyncGenerator[Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
