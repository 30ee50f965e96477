"""Writes rows. The connection's search path names the schema: the live one, or the one a rebuild fills."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final

from proctor.leaderboard.benchmark import BenchmarkModel
from proctor.leaderboard.entry import Entry
from proctor.leaderboard.result import Result
from proctor.leaderboard.rows import agent_rows, run_row
from proctor.leaderboard.run import LogRow, RunModel
from proctor.service.postgres import Connection

Columns = dict[str, Any]

RESULT_COLUMNS: Final = tuple(column.name for column in fields(Result))
LOG_COLUMNS: Final = tuple(column.name for column in fields(LogRow))
ENTRY_COLUMNS: Final = tuple(column.name for column in fields(Entry))
_RESULT: Final = attrgetter(*RESULT_COLUMNS)
_LOG: Final = attrgetter(*LOG_COLUMNS)


@dataclass(slots=True)
class Version:
    """A version of a result's row; `replaces` an earlier one that is in the database."""

    result: Result
    replaces: bool
    valid_to: int | None = None


@dataclass(slots=True)
class Pending:
    """What was decided since the last write. Runs and benchmarks are written as they are then."""

    versions: list[Version] = field(default_factory=list[Version])
    newest: dict[tuple[str, str, str], Version] = field(default_factory=dict[tuple[str, str, str], Version])
    log: list[LogRow] = field(default_factory=list[LogRow])
    entries: list[Entry] = field(default_factory=list[Entry])
    runs: dict[tuple[str, str], RunModel] = field(default_factory=dict[tuple[str, str], RunModel])
    benchmarks: dict[tuple[str, str], BenchmarkModel] = field(default_factory=dict[tuple[str, str], BenchmarkModel])

    def add(self, result: Result, *, replaces: bool) -> None:
        key = (result.workspace, result.run, result.attempt)
        earlier = self.newest.get(key)
        if earlier is not None:
            earlier.valid_to = result.valid_from
        version = Version(result, replaces and earlier is None)
        self.newest[key] = version
        self.versions.append(version)


async def write(connection: Connection, pending: Pending) -> None:
    await _close(connection, [version.result for version in pending.versions if version.replaces])
    await _copy(
        connection,
        "results",
        (*RESULT_COLUMNS, "valid_to"),
        [(*_RESULT(version.result), version.valid_to) for version in pending.versions],
    )
    await _copy(connection, "log", LOG_COLUMNS, [_LOG(row) for row in pending.log])
    for entry in pending.entries:
        await _insert(connection, "entries", {name: getattr(entry, name) for name in ENTRY_COLUMNS})
    await _upsert(connection, "runs", ("workspace", "run"), [run_row(model) for model in pending.runs.values()])
    await _upsert(
        connection,
        "agents",
        ("workspace", "run", "agent"),
        [row for model in pending.runs.values() for row in agent_rows(model)],
    )
    await _upsert(
        connection,
        "benchmarks",
        ("workspace", "benchmark"),
        [model.row() for model in pending.benchmarks.values()],
    )


async def _close(connection: Connection, replaced: Sequence[Result]) -> None:
    if replaced:
        await connection.execute(
            "UPDATE results r SET valid_to = n.valid_to "
            "FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS n (workspace, run, attempt, valid_to) "
            "WHERE r.workspace = n.workspace AND r.run = n.run AND r.attempt = n.attempt AND r.valid_to IS NULL",
            [row.workspace for row in replaced],
            [row.run for row in replaced],
            [row.attempt for row in replaced],
            [row.valid_from for row in replaced],
        )


async def _copy(connection: Connection, table: str, columns: Sequence[str], rows: Collection[tuple[Any, ...]]) -> None:
    if rows:
        await connection.copy_records_to_table(table, records=map(_plain, rows), columns=list(columns))


async def _insert(connection: Connection, table: str, row: Columns) -> None:
    places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
    await connection.execute(
        f'INSERT INTO "{table}" ({", ".join(_quoted(row))}) VALUES ({places})',  # noqa: S608 - names of our own
        *_plain(row.values()),
    )


async def _upsert(connection: Connection, table: str, key: tuple[str, ...], rows: Sequence[Columns]) -> None:
    if not rows:
        return
    names = tuple(rows[0])
    places = ", ".join(f"${place}" for place in range(1, len(names) + 1))
    changes = ", ".join(f"{name} = excluded.{name}" for name in _quoted(names) if name.strip('"') not in key)
    await connection.executemany(
        f'INSERT INTO "{table}" ({", ".join(_quoted(names))}) VALUES ({places}) '  # noqa: S608 - names of our own
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
        [_plain(row.values()) for row in rows],
    )


def _quoted(names: Iterable[str]) -> list[str]:
    return [f'"{name}"' for name in names]


def _plain(values: Iterable[Any]) -> tuple[Any, ...]:
    """PostgreSQL takes no NUL in text, and agents print them."""
    return tuple(value.replace("\0", "\ufffd") if type(value) is str else value for value in values)
