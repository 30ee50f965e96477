"""The service as a process: it migrates, serves, says that it is ready, rebuilds and stops."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import pytest


class Server(Protocol):
    url: str
    folder: Path

    def start(self) -> None: ...
    def kill(self) -> None: ...


Append = Callable[..., Coroutine[Any, Any, int]]
Start = Callable[..., Coroutine[Any, Any, Process]]


@pytest.fixture
def start(nats_server: Server, database_url: str, tmp_path: Path) -> Start:
    async def process(*arguments: str) -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "proctor.leaderboard",
            *arguments,
            env={
                **os.environ,
                "PROCTOR_NATS_URL": nats_server.url,
                "PROCTOR_DATABASE_URL": database_url,
                "PROCTOR_READY_FILE": str(tmp_path / "ready"),
            },
            stderr=PIPE,
        )

    return process


async def counted(connection: Any, query: str, wanted: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                if await connection.fetchval(query) == wanted:
                    return
            except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
                pass
            await asyncio.sleep(0.05)


async def test_serve_rebuild_and_stop(
    start: Start, append: Append, history: Any, database_url: str, tmp_path: Path
) -> None:
    boards = "SELECT count(*) FROM leaderboard.api_standings"
    connection = await asyncpg.connect(database_url)
    service = await start()
    await append(history(1, run="a"))
    await counted(connection, boards, 1)
    assert (tmp_path / "ready").exists()

    await connection.execute("UPDATE leaderboard.runs SET passed = 1000")
    rebuild = await start("rebuild")
    _, errors = await rebuild.communicate()
    assert rebuild.returncode == 0, errors
    assert await connection.fetchval("SELECT passed < 1000 FROM leaderboard.api_runs")

    await append(history(2, run="b"))
    await counted(connection, boards, 2)
    service.send_signal(signal.SIGTERM)
    _, errors = await service.communicate()
    assert service.returncode == 0, errors
    assert b"Traceback" not in errors
    await connection.close()


async def test_kill_at_any_moment_loses_and_doubles_nothing(
    start: Start, append: Append, history: Any, database_url: str
) -> None:
    connection = await asyncpg.connect(database_url)
    service = await start()
    await counted(connection, "SELECT count(*) FROM leaderboard.api_runs", 0)
    one = history(3, run="a", agents=("oracle", "nop"), tasks=8, attempts=2)
    writing = asyncio.create_task(append(one))
    for pause in (0.4, 0.7):
        await asyncio.sleep(pause)
        service.kill()
        await service.wait()
        service = await start()
    last = await writing
    await counted(connection, "SELECT sequence FROM leaderboard.api_position", last)
    (run,) = await connection.fetch("SELECT * FROM leaderboard.api_runs")
    assert {name: run[name] for name in one.tally} == one.tally
    current = await connection.fetchval("SELECT count(*) FROM leaderboard.api_results WHERE valid_to IS NULL")
    lines = await connection.fetchval("SELECT count(*) FROM leaderboard.api_log")
    assert (current, lines) == (32, last)
    service.kill()
    await service.communicate()
    await connection.close()
