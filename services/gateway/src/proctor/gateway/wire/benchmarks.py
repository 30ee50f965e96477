"""`osmosis benchmark list` and `info`."""

import asyncio
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from litestar import get
from litestar.params import FromPath

from proctor.contracts.manifest import Manifest
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.manifests import TaskSetHead
from proctor.gateway.readmodel import benchmarks as readmodel
from proctor.gateway.text import storable
from proctor.gateway.wire import benchmark_shapes as shapes
from proctor.gateway.wire import board, queries
from proctor.gateway.wire.paging import MAX_LIMIT, Limit, Offset, page
from proctor.service.errors import NotFound

_NO_TASKS: Final = Manifest(version="", tasks=())


@get("/benchmarks")
async def list_benchmarks(
    request: ApiRequest, edges: Opened, limit: Limit = MAX_LIMIT, offset: Offset = 0
) -> dict[str, Any]:
    rows, total = await queries.benchmarks(edges.pool, request.user.workspace, limit, offset)
    task_sets = await asyncio.gather(*(_task_sets(edges, row) for row in rows))
    site = edges.settings.shown_url
    entries = [shapes.entry(row, sets, site) for row, sets in zip(rows, task_sets, strict=True)]
    return page("benchmarks", entries, total, offset)


@get("/benchmarks/{key:path}")
async def get_benchmark(request: ApiRequest, edges: Opened, key: FromPath[str]) -> dict[str, Any]:
    workspace = request.user.workspace
    wanted = _wanted(request, key)
    row = await readmodel.find(edges.pool, workspace, wanted) if storable(wanted) else None
    if row is None:
        raise NotFound(f"there is no benchmark {wanted!r} in this workspace")
    manifest = await edges.manifests.get(row["manifest"]) if row["manifest"] else _NO_TASKS
    found = await readmodel.board(edges.pool, workspace, row["benchmark"], None)
    site = edges.settings.shown_url
    return {
        "benchmark": shapes.detail(row, await _task_sets(edges, row), manifest, site),
        "leaderboard": board.entries(found, site),
    }


def _wanted(request: ApiRequest, key: str) -> str:
    """As it was sent: the router's own `key` has lost doubled slashes and one at the end."""
    raw: bytes = request.scope["raw_path"]
    return unquote_to_bytes(raw.partition(b"/api/cli/benchmarks/")[2]).decode(errors="replace") or key


async def _task_sets(edges: Edges, row: readmodel.Row) -> tuple[TaskSetHead, ...]:
    return await edges.manifests.task_sets(row["manifest"]) if row["manifest"] else ()
