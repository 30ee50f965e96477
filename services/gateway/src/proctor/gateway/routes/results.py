"""The results of a run and the files that each left."""

from pathlib import PurePosixPath
from typing import Annotated, Any

from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter

from proctor.contracts.outcomes import Outcome
from proctor.gateway import artifacts
from proctor.gateway.answers.results import Artifacts, Result, Results
from proctor.gateway.body import ApiRequest
from proctor.gateway.conditional import conditional
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.paging import DEFAULT_LIMIT, INT, decode_cursor, page
from proctor.gateway.readmodel import runs, shapes
from proctor.gateway.routes.operations import BYTES, described
from proctor.gateway.routes.parameters import Cursor, Limit
from proctor.gateway.routes.runs import run_id
from proctor.service.errors import NotFound

Agent = Annotated[int | None, QueryParameter(name="agent", ge=0, le=1000)]


@get("/{run:str}/results", operation_class=described(Results))
async def list_results(
    *,
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    agent: Agent = None,
    outcome: FromQuery[Outcome | None] = None,
    task: FromQuery[str | None] = None,
) -> dict[str, Any]:
    workspace = request.user.workspace
    rows = await runs.results(
        edges.pool,
        workspace,
        await run_id(edges, workspace, run),
        filters=(agent, outcome, task),
        after=decode_cursor(cursor, int, int, int, largest=INT),
        limit=limit + 1,
    )
    return page([shapes.result(row) for row in rows], limit, "agent", "task", "number")


@get("/{run:str}/results/{attempt:str}", middleware=[conditional], operation_class=described(Result, 304))
async def get_result(request: ApiRequest, edges: Opened, run: FromPath[str], attempt: FromPath[str]) -> dict[str, Any]:
    return shapes.result(await _found(request, edges, run, attempt))


@get("/{run:str}/results/{attempt:str}/artifacts", operation_class=described(Artifacts))
async def list_artifacts(
    request: ApiRequest, edges: Opened, run: FromPath[str], attempt: FromPath[str]
) -> dict[str, Any]:
    row = await _found(request, edges, run, attempt)
    listed = await artifacts.listing(edges.objects, artifacts.phases(row))
    return {"items": [file._asdict() for file in listed], "cut": row["artifacts_cut"]}


@get(
    "/{run:str}/results/{attempt:str}/artifacts/{phase:str}/{path:path}",
    operation_class=described(BYTES, answer_types=("text/plain", "application/octet-stream")),
)
async def get_artifact(
    *,
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    attempt: FromPath[str],
    phase: FromPath[str],
    path: FromPath[str],
) -> Response[bytes]:
    row = await _found(request, edges, run, attempt)
    name = artifacts.phases(row).get(phase)
    if name is None:
        raise NotFound(f"this result has no artifacts of the phase {phase!r}")
    data = await artifacts.content(edges.objects, name, str(PurePosixPath(path.lstrip("/"))))
    return Response(data, media_type=artifacts.media_type(data), headers={"Content-Disposition": "inline"})


async def _found(request: ApiRequest, edges: Edges, run: str, attempt: str) -> runs.Row:
    workspace = request.user.workspace
    row = await runs.result(edges.pool, workspace, await run_id(edges, workspace, run), attempt)
    if row is None:
        raise NotFound(f"the run has no result {attempt!r}, or it hasn't begun")
    return row
