"""The run's log: lines by the read model's index, their text straight from the event log."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from litestar import get
from litestar.params import FromPath, FromQuery, QueryParameter

from proctor.contracts import catalogue
from proctor.contracts.catalogue import Level, Names, Step
from proctor.gateway.answers.runs import Log
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, encode_cursor
from proctor.gateway.readmodel import runs
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.parameters import Cursor, Limit
from proctor.gateway.routes.runs import run_id

type Filters = tuple[str | None, str | None, int | None, int | None]

Index = Annotated[int | None, QueryParameter(ge=0, le=1_000_000)]


@get("/{run:str}/logs", operation_class=described(Log))
async def get_logs(
    *,
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    direction: FromQuery[runs.Direction] = "older",
    level: FromQuery[Level | None] = None,
    step: FromQuery[Step | None] = None,
    agent: Index = None,
    task: Index = None,
) -> dict[str, Any]:
    workspace = request.user.workspace
    identifier = await run_id(edges, workspace, run)
    filters = (level, step, agent, task)
    return await log_page(
        edges, workspace, identifier, filters=filters, direction=direction, cursor=cursor, limit=limit
    )


async def log_page(
    edges: Edges,
    workspace: str,
    run: str,
    *,
    filters: Filters = (None, None, None, None),
    direction: runs.Direction,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """`{items, older, newer}`. `filters`: level, step, agent, task."""
    beyond = decode_cursor(cursor, int)
    rows = await runs.log_lines(
        edges.pool,
        workspace,
        run,
        filters=filters,
        direction=direction,
        beyond=beyond[0] if beyond else None,
        limit=limit + 1,
    )
    shown = rows[-limit:] if direction == "older" else rows[:limit]
    older, newer = _cursors(shown, direction, beyond[0] if beyond else None, more=len(rows) > limit)
    names = await _names(edges, workspace, run, shown)
    items = await asyncio.gather(*(_line(edges, row, names) for row in shown))
    return {"items": items, "older": older, "newer": newer}


def _cursors(
    shown: Sequence[runs.Row], direction: runs.Direction, beyond: int | None, *, more: bool
) -> tuple[str | None, str]:
    """(older, newer). `older` is None where the log begins; `newer` always leads on."""
    if not shown:
        return None, encode_cursor(beyond or 0)
    at_start = not more if direction == "older" else beyond is None
    older = None if at_start else encode_cursor(shown[0]["sequence"])
    return older, encode_cursor(shown[-1]["sequence"])


async def _names(edges: Edges, workspace: str, run: str, rows: Sequence[runs.Row]) -> Names:
    tasks = sorted({row["task"] for row in rows if row["task"] is not None})
    agents = await runs.agents(edges.pool, workspace, run)
    named = await runs.task_names(edges.pool, workspace, run, tasks) if tasks else {}
    return Names(
        agents=[row["entrant"] for row in agents],
        tasks=[named.get(index, f"#{index}") for index in range(tasks[-1] + 1)] if tasks else (),
    )


async def _line(edges: Edges, row: runs.Row, names: Names) -> dict[str, Any]:
    record = await edges.log.get(row["sequence"])
    return {
        **dict(row),
        "time": record.recorded_at if record else None,
        "message": catalogue.line(record.event, "en", names) if record else "this event is no longer kept",
    }
