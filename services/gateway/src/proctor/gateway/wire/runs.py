"""`osmosis benchmark submit` and `osmosis benchmark runs`."""

from typing import Annotated, Any

from litestar import get, post
from litestar.params import FromPath, FromQuery, QueryParameter

from proctor.contracts.states import RunStatus
from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.edges import Opened
from proctor.gateway.intents import runs as intents
from proctor.gateway.paging import DEFAULT_LIMIT
from proctor.gateway.readmodel.runs import Direction
from proctor.gateway.routes.logs import log_page
from proctor.gateway.routes.parameters import Cursor
from proctor.gateway.routes.runs import SUBMIT_BYTES, run_after, run_document, run_id
from proctor.gateway.wire import queries
from proctor.gateway.wire import run_shapes as shapes
from proctor.gateway.wire.paging import MAX_LIMIT, Limit, Offset, page
from proctor.gateway.wire.run_values import environments, secret_scopes
from proctor.service.errors import Conflicting

ENDED = frozenset({RunStatus.FINISHED, RunStatus.FAILED, RunStatus.STOPPED})

LogLimit = Annotated[int, QueryParameter(name="limit", ge=1, le=200)]


@post("/benchmark-runs", guards=[at_least(Role.MEMBER)], request_max_body_size=SUBMIT_BYTES)
async def submit_run(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    who = request.user
    edges.limits.check("submits", who.user)
    made = await intents.submit(edges, who, await read_object(request), None)
    run = await run_after(edges, who.workspace, made.run, made.sequence)
    return shapes.submitted(run, made.tasks or 0, made.warnings, edges.settings.shown_url)


@get("/benchmark-runs")
async def list_runs(
    *,
    request: ApiRequest,
    edges: Opened,
    limit: Limit = MAX_LIMIT,
    offset: Offset = 0,
    benchmark: FromQuery[str | None] = None,
) -> dict[str, Any]:
    rows, total = await queries.runs(edges.pool, request.user.workspace, benchmark, limit, offset)
    site = edges.settings.shown_url
    return page("benchmark_runs", [shapes.summary(row, site) for row in rows], total, offset)


@get("/benchmark-runs/{run:str}")
async def get_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    who = request.user
    found = await run_document(edges, who.workspace, run)
    return shapes.detail(
        {**found, **await queries.creator(edges.pool, found["submitted_by"])},
        managed=await queries.is_managed(edges.pool, found["benchmark"]),
        scopes=await secret_scopes(edges, who.workspace, found),
        env=await environments(edges, who, found),
        site=edges.settings.shown_url,
    )


@post("/benchmark-runs/{run:str}/stop", guards=[at_least(Role.MEMBER)], status_code=202)
async def stop_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    await read_object(request)
    workspace = request.user.workspace
    found = await run_document(edges, workspace, run)
    if found["status"] in ENDED:
        raise Conflicting(f"the run has ended already: it is {found['status']}", code="RUN_ENDED")
    sequence = await intents.stop(edges, request.user, found["id"], "asked by a user")
    stopping = await run_after(edges, workspace, found["id"], sequence)
    return {"benchmark_run": shapes.summary(stopping, edges.settings.shown_url)}


@get("/benchmark-runs/{run:str}/logs")
async def get_logs(
    *,
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    limit: LogLimit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    direction: FromQuery[Direction] = "older",
) -> dict[str, Any]:
    workspace = request.user.workspace
    identifier = await run_id(edges, workspace, run)
    found = await log_page(edges, workspace, identifier, direction=direction, cursor=cursor, limit=limit)
    onwards = found["older"] if direction == "older" else found["items"] and found["newer"]
    return {"logs": [_line(line) for line in found["items"]], "next_cursor": onwards or None}


def _line(line: dict[str, Any]) -> dict[str, Any]:
    return {
        "timestamp": line["time"],
        "level": line["level"],
        "step": line["step"],
        "message": line["message"],
        "details": {key: line[key] for key in ("sequence", "agent", "task", "attempt", "type")},
    }
