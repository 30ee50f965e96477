"""Submit, list, look at and stop runs."""

import asyncio
from typing import Annotated, Any, Literal

from litestar import Response, get, post
from litestar.params import FromPath, FromQuery
from pydantic import BaseModel, ConfigDict, Field

from proctor.contracts.manifest import RunLock
from proctor.contracts.states import RunStatus
from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.runs import Run, RunDetail, Runs, SubmittedRun
from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.conditional import conditional
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.folds import run_head
from proctor.gateway.intents import runs as intents
from proctor.gateway.intents.runs import Submitted
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, encode_cursor
from proctor.gateway.readmodel import runs, shapes
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import LOCATION, described
from proctor.gateway.routes.parameters import Cursor, IdempotencyKey, Limit
from proctor.gateway.submission.document import NewRun
from proctor.gateway.text import Plain
from proctor.objects import ObjectMissing
from proctor.service.errors import NotFound

SUBMIT_BYTES = 4 * 1024 * 1024
MAX_REASON = 500


class Why(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Annotated[Plain, Field(max_length=MAX_REASON, pattern=r"\S")] = "asked by a user"


@post(
    "/",
    guards=[at_least(Role.MEMBER)],
    request_max_body_size=SUBMIT_BYTES,
    operation_class=described(SubmittedRun, 200, 409, body=NewRun, headers=LOCATION),
)
async def submit_run(
    request: ApiRequest, edges: Opened, idempotency_key: IdempotencyKey = None
) -> Response[dict[str, Any]]:
    edges.limits.check("submits", request.user.user)
    submitted = await intents.submit(edges, request.user, await read_object(request), idempotency_key)
    return await answer(edges, request.user.workspace, submitted)


async def answer(edges: Edges, workspace: str, submitted: Submitted) -> Response[dict[str, Any]]:
    run = await run_after(edges, workspace, submitted.run, submitted.sequence)
    body = {**run, "task_count": submitted.tasks or run["tasks"], "warnings": list(submitted.warnings)}
    status = 200 if submitted.repeated else 201
    return Response(body, status_code=status, headers={"Location": f"/api/v1/runs/{submitted.run}"})


@get("/", operation_class=described(Runs))
async def list_runs(
    *,
    request: ApiRequest,
    edges: Opened,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    benchmark: FromQuery[str | None] = None,
    status: FromQuery[list[RunStatus] | None] = None,
    tag: FromQuery[list[str] | None] = None,
    archived: FromQuery[Literal["only", "with"] | None] = None,
) -> dict[str, Any]:
    before = decode_cursor(cursor, int)
    rows = await runs.listed(
        edges.pool,
        request.user.workspace,
        benchmark=benchmark,
        statuses=status,
        before=before[0] if before else None,
        limit=limit + 1,
        tags=tag,
        archived=None if archived == "with" else archived == "only",
    )
    more = len(rows) > limit
    cursor_after = encode_cursor(rows[limit - 1]["submitted_position"]) if more else None
    return {"items": [shapes.run(row) for row in rows[:limit]], "next_cursor": cursor_after}


@get("/{run:str}", middleware=[conditional], operation_class=described(RunDetail, 304))
async def get_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    return await run_document(edges, request.user.workspace, run)


async def run_document(edges: Edges, workspace: str, run: str) -> dict[str, Any]:
    """A run by id or name with its configuration and its agents' results. Raises `NotFound`."""
    row = await runs.find(edges.pool, workspace, run)
    if row is None:
        return await _unprojected(edges, workspace, await run_id(edges, workspace, run))
    agents, kinds = await asyncio.gather(
        runs.agents(edges.pool, workspace, row["run"]), runs.kinds(edges.pool, workspace, row["run"])
    )
    results = {"agent_results": [shapes.agent(agent) for agent in agents], "kinds": kinds}
    return {**shapes.run(row), "config": row["config"], **results}


@post("/{run:str}/stop", guards=[at_least(Role.MEMBER)], status_code=202, operation_class=described(Run, 409, body=Why))
async def stop_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    why = await read(request, Why)
    identifier = await run_id(edges, request.user.workspace, run)
    sequence = await intents.stop(edges, request.user, identifier, why.reason.strip())
    return await run_after(edges, request.user.workspace, identifier, sequence)


@get(
    "/{run:str}/lock", media_type="application/json", middleware=[conditional], operation_class=described(RunLock, 304)
)
async def get_lock(request: ApiRequest, edges: Opened, run: FromPath[str]) -> bytes:
    row = await runs.find(edges.pool, request.user.workspace, run)
    if row is None or row["lock"] is None:
        await run_id(edges, request.user.workspace, run)
        raise NotFound("the run isn't planned yet, so nothing is locked")
    try:
        return await edges.objects.get(row["lock"])
    except ObjectMissing as error:
        raise NotFound("the run's lock is no longer stored") from error


async def run_id(edges: Edges, workspace: str, wanted: str) -> str:
    """The id of a run by id or name, also of one that only the log knows. Raises `NotFound`."""
    row = await runs.find(edges.pool, workspace, wanted)
    if row is not None:
        return row["run"]
    reserved = await edges.pool.fetchval(
        "SELECT run FROM gateway.runs WHERE workspace = $1 AND (run = $2 OR name = $2) ORDER BY run = $2 DESC LIMIT 1",
        workspace,
        wanted,
    )
    if reserved is None or await run_head(edges.log, workspace, reserved) is None:
        raise NotFound(f"there is no run {wanted!r} in this workspace")
    return reserved


async def run_after(edges: Edges, workspace: str, run: str, sequence: int) -> dict[str, Any]:
    """The run as it is after that event: from the read model when it got there in time, else from the log."""
    if await edges.feed.passed(sequence) and (row := await runs.find(edges.pool, workspace, run)):
        return shapes.run(row)
    folded = await run_head(edges.log, workspace, run)
    if folded is None:
        raise NotFound("there is no such run in this workspace")
    return shapes.run_from_log(folded)


async def _unprojected(edges: Edges, workspace: str, run: str) -> dict[str, Any]:
    folded = await run_head(edges.log, workspace, run)
    if folded is None or folded.state.submitted is None:
        raise NotFound("there is no such run in this workspace")
    config = folded.state.submitted.config.model_dump(mode="json")
    return {**shapes.run_from_log(folded), "config": config, "agent_results": [], "kinds": []}
