"""Migrations: once, in order, whole, whoever else runs them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from proctor.service.postgres import migrate, open_pool

type Package = Callable[[dict[str, str]], str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workspace: str) -> Package:
    """A package with these migrations; called again it has others."""
    monkeypatch.syspath_prepend(str(tmp_path))
    root = tmp_path / f"p_{workspace}"
    (root / "migrations").mkdir(parents=True)
    (root / "__init__.py").touch()

    def make(files: dict[str, str]) -> str:
        for name, sql in files.items():
            (root / "migrations" / name).write_text(sql)
        return root.name

    return make


FIRST = {"0001_begin.sql": "CREATE TABLE one (id int); CREATE TABLE counts (n int); INSERT INTO counts VALUES (1);"}
SECOND = {"0002_more.sql": "ALTER TABLE one ADD COLUMN name text; INSERT INTO counts VALUES (2);"}


async def test_migrations_run_once_and_in_order(database_url: str, package: Package) -> None:
    pool = await open_pool(database_url)
    await migrate(pool, package({**SECOND, **FIRST, "README.md": "not SQL", "1_short.sql": "BROKEN"}), "toy")
    await migrate(pool, package({}), "toy")
    assert [row["n"] for row in await pool.fetch("SELECT n FROM toy.counts ORDER BY n")] == [1, 2]
    await migrate(pool, package({"0003_last.sql": "INSERT INTO counts VALUES (3)"}), "toy")
    assert [row["n"] for row in await pool.fetch("SELECT n FROM toy.counts ORDER BY n")] == [1, 2, 3]
    assert [row["number"] for row in await pool.fetch("SELECT number FROM toy.migrations ORDER BY number")] == [1, 2, 3]
    await pool.close()


async def test_several_at_once_run_them_once(database_url: str, package: Package) -> None:
    name = package(
        {
            "0001_slow.sql": "CREATE TABLE counts (n int); SELECT pg_sleep(0.2);",
            "0002_more.sql": "INSERT INTO counts VALUES (2);",
        }
    )
    pools = await asyncio.gather(*(open_pool(database_url, size=2) for _ in range(4)))
    await asyncio.gather(*(migrate(pool, name, "toy") for pool in pools))
    assert await pools[0].fetchval("SELECT count(*) FROM toy.counts") == 1
    for pool in pools:
        await pool.close()


async def test_services_keep_to_their_own_schema(database_url: str, package: Package) -> None:
    pool = await open_pool(database_url)
    name = package(FIRST)
    await migrate(pool, name, "toy")
    await migrate(pool, name, "other")
    found = await pool.fetch("SELECT table_schema FROM information_schema.tables WHERE table_name = 'one' ORDER BY 1")
    assert [row[0] for row in found] == ["other", "toy"]
    assert await pool.fetchval("SHOW search_path") == '"$user", public', "the pool's connections stay as they were"
    await pool.close()


async def test_a_migration_that_fails_leaves_nothing(database_url: str, package: Package) -> None:
    pool = await open_pool(database_url)
    name = package({**FIRST, "0002_bad.sql": "CREATE TABLE half (id int); SELECT no_such_function();"})
    with pytest.raises(asyncpg.UndefinedFunctionError):
        await migrate(pool, name, "toy")
    assert await pool.fetchval("SELECT to_regclass('toy.half')") is None
    await migrate(pool, package({"0002_bad.sql": "CREATE TABLE half (id int);"}), "toy")
    assert await pool.fetchval("SELECT to_regclass('toy.half')") is not None
    await pool.close()


async def test_json_goes_in_and_comes_out_as_it_is(database_url: str) -> None:
    pool = await open_pool(database_url)
    value = {"a": [1, 2.5, None, "ü"], "b": {"c": True}}
    assert await pool.fetchval("SELECT $1::jsonb", value) == value
    assert await pool.fetchval("SELECT $1::json", [1]) == [1]
    assert await pool.fetchval("SHOW timezone") == "UTC"
    await pool.close()


async def test_a_database_that_never_comes_is_given_up(unused_tcp_port: int) -> None:
    with pytest.raises(OSError, match=str(unused_tcp_port)):
        await open_pool(f"postgresql://nobody@127.0.0.1:{unused_tcp_port}/none", patience=0.5)
