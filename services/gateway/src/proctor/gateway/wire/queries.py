"""Queries that only the osmosis wire needs: pages by offset, and the people beside the rows."""

from typing import Any, Final

from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.service.postgres import Pool

type Row = dict[str, Any]

_BENCHMARKS: Final = """
SELECT b.*, u.name AS creator_name, r.run_count, r.running_count,
       last.name AS last_run_name, last.status AS last_run_status, last.submitted_at AS last_run_at
FROM leaderboard.api_benchmarks b
LEFT JOIN gateway.users u ON u.id = b.added_by
LEFT JOIN LATERAL (
    SELECT count(*) AS run_count, count(*) FILTER (WHERE status = 'running') AS running_count
    FROM leaderboard.api_runs WHERE workspace = $1 AND benchmark = b.benchmark
) r ON true
LEFT JOIN LATERAL (
    SELECT name, status, submitted_at FROM leaderboard.api_runs WHERE workspace = $1 AND benchmark = b.benchmark
    ORDER BY submitted_position DESC LIMIT 1
) last ON true
WHERE b.workspace IN ($1, $2) AND NOT b.removed ORDER BY b.name, b.benchmark LIMIT $3 OFFSET $4
"""
_BENCHMARK_COUNT: Final = "SELECT count(*) FROM leaderboard.api_benchmarks WHERE workspace IN ($1, $2) AND NOT removed"
_MANAGED: Final = "SELECT count(*) FROM leaderboard.api_benchmarks WHERE workspace = $1 AND benchmark = $2"
_LISTED: Final = """
FROM leaderboard.api_runs r
LEFT JOIN gateway.run_marks m ON m.workspace = r.workspace AND m.run = r.run
WHERE r.workspace = $1 AND ($2::text IS NULL OR $2 IN (r.benchmark, r.benchmark_key, r.benchmark_name))
  AND m.archived_at IS NULL
"""
# what api_runs sums over the agents is summed for the page's runs alone
_RUNS: Final = f"""
SELECT r.run AS id, r.*, u.name AS creator_name, u.email AS creator_email
FROM leaderboard.api_runs r LEFT JOIN gateway.users u ON u.id = r.submitted_by
WHERE r.workspace = $1 AND r.run IN (SELECT r.run {_LISTED} ORDER BY r.submitted_position DESC LIMIT $3 OFFSET $4)
ORDER BY r.submitted_position DESC
"""  # noqa: S608 - text of our own
_RUN_COUNT: Final = f"SELECT count(*) {_LISTED}"
_CREATOR: Final = "SELECT name AS creator_name, email AS creator_email FROM gateway.users WHERE id = $1"


async def benchmarks(pool: Pool, workspace: str, limit: int, offset: int) -> tuple[list[Row], int]:
    """A page in order of name, and how many there are in all."""
    rows = await pool.fetch(_BENCHMARKS, workspace, SYSTEM_WORKSPACE, limit, offset)
    return [dict(row) for row in rows], await pool.fetchval(_BENCHMARK_COUNT, workspace, SYSTEM_WORKSPACE)


async def is_managed(pool: Pool, benchmark: str) -> bool:
    """Also of one that was removed."""
    return bool(await pool.fetchval(_MANAGED, SYSTEM_WORKSPACE, benchmark))


async def runs(pool: Pool, workspace: str, benchmark: str | None, limit: int, offset: int) -> tuple[list[Row], int]:
    """A page, newest first, and how many there are in all, without those that were archived."""
    rows = await pool.fetch(_RUNS, workspace, benchmark, limit, offset)
    return [dict(row) for row in rows], await pool.fetchval(_RUN_COUNT, workspace, benchmark)


async def creator(pool: Pool, user: str) -> Row:
    return dict(await pool.fetchrow(_CREATOR, user) or {})
