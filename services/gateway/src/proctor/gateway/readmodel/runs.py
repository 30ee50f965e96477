"""Queries on runs, their agents, results and log lines."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from proctor.service.postgres import Pool

type Row = dict[str, Any]

_MARKED: Final = """
SELECT r.*, m.note, coalesce(m.tags, '{}') AS tags, m.archived_at IS NOT NULL AS archived
FROM leaderboard.api_runs r LEFT JOIN gateway.run_marks m ON m.workspace = r.workspace AND m.run = r.run
"""
_PAGE: Final = """
SELECT r.run FROM leaderboard.api_runs r LEFT JOIN gateway.run_marks m ON m.workspace = r.workspace AND m.run = r.run
WHERE r.workspace = $1 AND ($2::text IS NULL OR $2 IN (benchmark, benchmark_key, benchmark_name))
  AND ($3::text[] IS NULL OR status = ANY($3)) AND ($4::bigint IS NULL OR submitted_position < $4)
  AND ($6::text[] IS NULL OR m.tags @> $6) AND ($7::boolean IS NULL OR $7 = (m.archived_at IS NOT NULL))
ORDER BY submitted_position DESC LIMIT $5
"""
# what api_runs sums over the agents is summed for the page's runs alone
_LIST: Final = f"{_MARKED} WHERE r.workspace = $1 AND r.run IN ({_PAGE}) ORDER BY submitted_position DESC"
_FIND: Final = f"""
{_MARKED} WHERE r.workspace = $1 AND r.run = $2
UNION ALL {_MARKED} WHERE r.workspace = $1 AND r.name = $2 AND r.run <> $2 LIMIT 1
"""
_AGENTS: Final = "SELECT * FROM leaderboard.api_agents WHERE workspace = $1 AND run = $2 ORDER BY agent"
_KINDS: Final = """
SELECT k.*, (
    SELECT message FROM leaderboard.api_results r
    WHERE workspace = $1 AND run = $2 AND valid_to IS NULL AND r.agent = k.agent AND r.kind = k.kind
      AND r.outcome IS NOT DISTINCT FROM k.outcome AND message IS NOT NULL
    ORDER BY task, number LIMIT 1
) AS message
FROM (
    SELECT agent, kind, outcome, fault, count(*) AS count FROM leaderboard.api_results
    WHERE workspace = $1 AND run = $2 AND valid_to IS NULL AND kind IS NOT NULL GROUP BY agent, kind, outcome, fault
) k
ORDER BY count DESC, agent, kind, outcome
"""
_RESULTS: Final = """
SELECT * FROM leaderboard.api_results
WHERE workspace = $1 AND run = $2 AND valid_to IS NULL AND {} AND {} AND {} AND {} ORDER BY agent, task, number LIMIT $9
"""
# by whether it is asked for: a condition that may be void is one that no index serves once the plan is kept
_RESULTS_WHERE: Final = (
    {True: "agent = $3", False: "$3::int IS NULL"},
    {True: "outcome = $4", False: "$4::text IS NULL"},
    {True: "task_name = $5", False: "$5::text IS NULL"},
    {True: "(agent, task, number) > ($6, $7, $8)", False: "coalesce($6::int, $7::int, $8::int) IS NULL"},
)
_RESULT: Final = """
SELECT * FROM leaderboard.api_results WHERE workspace = $1 AND run = $2 AND attempt = $3 AND valid_to IS NULL
UNION ALL
SELECT * FROM leaderboard.api_results WHERE workspace = $1 AND run = $2 AND identity = $3 AND valid_to IS NULL
LIMIT 1
"""
_IMAGES: Final = """
SELECT DISTINCT image FROM leaderboard.api_results WHERE workspace = $1 AND run = $2 AND image IS NOT NULL
ORDER BY image
"""
_LOG: Final = """
SELECT sequence, type, level, step, agent, task, attempt FROM leaderboard.api_log
WHERE workspace = $1 AND run = $2 AND ($3::text IS NULL OR level = $3) AND ($4::text IS NULL OR step = $4)
  AND ($5::int IS NULL OR agent = $5) AND ($6::int IS NULL OR task = $6)
  AND sequence {beyond} coalesce($7::bigint, {end})
ORDER BY sequence {order} LIMIT $8
"""
_LOG_BY_DIRECTION: Final = {
    "older": _LOG.format(beyond="<", end=2**63 - 1, order="DESC"),
    "newer": _LOG.format(beyond=">", end=0, order="ASC"),
}
_TASK_NAMES: Final = """
SELECT DISTINCT task, task_name FROM leaderboard.api_results
WHERE workspace = $1 AND run = $2 AND task = ANY($3::int[]) AND valid_to IS NULL
"""

Direction = Literal["older", "newer"]


async def listed(
    pool: Pool,
    workspace: str,
    *,
    benchmark: str | None,
    statuses: Sequence[str] | None,
    before: int | None,
    limit: int,
    tags: Sequence[str] | None = None,
    archived: bool | None = False,
) -> list[Row]:
    """Newest first: those with all of the tags, archived ones alone or left out, or both where that is None."""
    filters = (benchmark, statuses, before, limit, tags, archived)
    return [dict(row) for row in await pool.fetch(_LIST, workspace, *filters)]


async def find(pool: Pool, workspace: str, wanted: str) -> Row | None:
    """By id, else by name."""
    row = await pool.fetchrow(_FIND, workspace, wanted)
    return dict(row) if row else None


async def agents(pool: Pool, workspace: str, run: str) -> list[Row]:
    return [dict(row) for row in await pool.fetch(_AGENTS, workspace, run)]


async def kinds(pool: Pool, workspace: str, run: str) -> list[Row]:
    """How often each error kind came with each outcome (None: not final), most frequent first, each with the message
    of its first result."""
    return [dict(row) for row in await pool.fetch(_KINDS, workspace, run)]


async def results(
    pool: Pool,
    workspace: str,
    run: str,
    *,
    filters: tuple[int | None, str | None, str | None],
    after: tuple[int, int, int] | None,
    limit: int,
) -> list[Row]:
    """`filters`: agent, outcome, task name."""
    asked = (*(value is not None for value in filters), after is not None)
    query = _RESULTS.format(*(where[one] for where, one in zip(_RESULTS_WHERE, asked, strict=True)))
    rows = await pool.fetch(query, workspace, run, *filters, *(after or (None, None, None)), limit)
    return [dict(row) for row in rows]


async def result(pool: Pool, workspace: str, run: str, attempt: str) -> Row | None:
    """By attempt key or identity."""
    row = await pool.fetchrow(_RESULT, workspace, run, attempt)
    return dict(row) if row else None


async def images(pool: Pool, workspace: str, run: str) -> list[str]:
    """Those that its sandboxes were made of."""
    return [row["image"] for row in await pool.fetch(_IMAGES, workspace, run)]


async def log_lines(
    pool: Pool,
    workspace: str,
    run: str,
    *,
    filters: tuple[str | None, str | None, int | None, int | None],
    direction: Direction,
    beyond: int | None,
    limit: int,
) -> list[Row]:
    """`filters`: level, step, agent, task. In log order, whichever way it was read."""
    rows = await pool.fetch(_LOG_BY_DIRECTION[direction], workspace, run, *filters, beyond, limit)
    return [dict(row) for row in (reversed(rows) if direction == "older" else rows)]


async def task_names(pool: Pool, workspace: str, run: str, tasks: Sequence[int]) -> dict[int, str]:
    rows = await pool.fetch(_TASK_NAMES, workspace, run, tasks)
    return {row["task"]: row["task_name"] for row in rows}
