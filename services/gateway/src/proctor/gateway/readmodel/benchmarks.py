"""Queries on benchmarks: a workspace's own and the managed ones."""

from typing import Any, Final

from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.service.postgres import Pool

type Row = dict[str, Any]

_LIST: Final = """
SELECT * FROM leaderboard.api_benchmarks
WHERE workspace IN ($1, $2) AND NOT removed AND ($3::text IS NULL OR key = $3)
  AND ($4::text IS NULL OR (name, benchmark) > ($4, $5))
ORDER BY name, benchmark LIMIT $6
"""
_FIND: Final = """
SELECT * FROM leaderboard.api_benchmarks
WHERE workspace IN ($1, $2) AND NOT removed AND (benchmark = $3 OR key = $3 OR name = $3)
ORDER BY benchmark = $3 DESC, key = $3 DESC, workspace = $1 DESC, added_at LIMIT 1
"""
_WORDS: Final = """
SELECT key, name FROM leaderboard.api_benchmarks WHERE workspace IN ($1, $2) AND NOT removed ORDER BY name LIMIT 1000
"""
_BOARD: Final = """
SELECT board FROM leaderboard.api_standings
WHERE workspace = $1 AND benchmark = $2 AND ($3::bigint IS NULL OR position <= $3) ORDER BY position DESC LIMIT 1
"""
EMPTY_BOARD: Final[dict[str, Any]] = {"position": None, "rows": [], "ranks": {}, "ineligible": [], "pareto": []}


async def listed(pool: Pool, workspace: str, key: str | None, after: tuple[str, str] | None, limit: int) -> list[Row]:
    name, benchmark = after or (None, None)
    return [dict(row) for row in await pool.fetch(_LIST, workspace, SYSTEM_WORKSPACE, key, name, benchmark, limit)]


async def find(pool: Pool, workspace: str, wanted: str) -> Row | None:
    """By id, else by key, else by name; the workspace's own before a managed one."""
    row = await pool.fetchrow(_FIND, workspace, SYSTEM_WORKSPACE, wanted)
    return dict(row) if row else None


async def words(pool: Pool, workspace: str) -> list[str]:
    """The keys and names that a user may have meant."""
    rows = await pool.fetch(_WORDS, workspace, SYSTEM_WORKSPACE)
    return [word for row in rows for word in (row["key"], row["name"])]


async def board(pool: Pool, workspace: str, benchmark: str, position: int | None) -> dict[str, Any]:
    """The board as of a position, else the current one."""
    return await pool.fetchval(_BOARD, workspace, benchmark, position) or EMPTY_BOARD
