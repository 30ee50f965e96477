"""What a run leaves to download: a list with addresses, and each file by its path or by a signed address."""

import time
from typing import Annotated, Any

from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter

from proctor.gateway.answers.results import Outputs
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.outputs.addresses import FILES, address
from proctor.gateway.outputs.manifest import KINDS, LOCK, kind_of, read_kinds
from proctor.gateway.outputs.ranges import etag
from proctor.gateway.outputs.sending import MEDIA_TYPES, respond
from proctor.gateway.outputs.tokens import read_grant, read_snapshot, snapshot_token
from proctor.gateway.routes.operations import BYTES, described
from proctor.gateway.routes.runs import run_id

Types = Annotated[str | None, QueryParameter(name="types", max_length=100)]


@get("/{run:str}/outputs", operation_class=described(Outputs, 409))
async def list_outputs(request: ApiRequest, edges: Opened, run: FromPath[str], types: Types = None) -> dict[str, Any]:
    """Not paged: a snapshot is listed whole."""
    kinds = read_kinds(types, (*KINDS, LOCK))
    workspace = request.user.workspace
    found = await edges.outputs.manifest(workspace, await run_id(edges, workspace, run), kinds)
    return {
        "snapshot": snapshot_token(edges.sealer, found.snapshot),
        "items": [
            {
                "path": file.path,
                "type": file.kind,
                "size": file.size,
                "etag": etag(*file.place),
                "url": address(edges, request, file.path, file.place),
            }
            for file in found.files
        ],
        "totals": found.totals,
        "expires_in": edges.settings.download_seconds,
    }


@get("/{run:str}/outputs/{path:path}", operation_class=described(BYTES, 206, 304, 409, 416, answer_types=MEDIA_TYPES))
async def get_output(
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    path: FromPath[str],
    snapshot: FromQuery[str | None] = None,
) -> Response[Any]:
    """Of the snapshot, or as the run is now."""
    workspace, wanted = request.user.workspace, path.removeprefix("/")
    identifier = await run_id(edges, workspace, run)
    if snapshot is None:
        at = (await edges.outputs.snapshots.take(workspace, identifier, kind_of(wanted))).snapshot
    else:
        at = read_snapshot(edges.sealer, workspace, identifier, snapshot)
    places = await edges.outputs.places(at, [wanted])
    return await respond(edges.outputs.spools, request.headers, wanted, places[wanted])


@get(
    f"{FILES}/{{token:str}}/{{name:str}}",
    security=[],
    operation_class=described(BYTES, 206, 304, 403, 416, 503, answer_types=MEDIA_TYPES),
)
async def get_file(
    request: ApiRequest,
    edges: Opened,
    token: FromPath[str],
    name: FromPath[str],  # noqa: ARG001 - for those who save it
) -> Response[Any]:
    """Needs no authorization: the address is one."""
    grant = read_grant(edges.sealer, token, time.time())
    return await respond(edges.outputs.spools, request.headers, grant.path, grant.place)
