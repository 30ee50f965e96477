"""`osmosis benchmark runs download`: the manifest, and an address for each of its files."""

from collections import defaultdict
from typing import Annotated, Any, Final

from litestar import get, post
from litestar.params import FromPath, QueryParameter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.outputs.addresses import address
from proctor.gateway.outputs.manifest import DEFAULT_KINDS, read_kinds
from proctor.gateway.outputs.tokens import Place, Snapshot, read_snapshot, snapshot_token
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.runs import run_id
from proctor.gateway.text import storable
from proctor.service.errors import Invalid, NotFound

ITEMS: Final = 500
BODY_BYTES: Final = 4 * 1024 * 1024

Types = Annotated[str | None, QueryParameter(name="types", max_length=100)]


def _name(path: str) -> str:
    if not storable(path):
        raise ValueError("must not hold a NUL or half of a surrogate pair, which no path of a manifest does")
    return path


class Item(BaseModel):
    model_config = ConfigDict(frozen=True)

    path: Annotated[str, AfterValidator(_name)]
    token: str | None = None


class Wanted(BaseModel):
    items: list[Item] = Field(min_length=1, max_length=ITEMS)


@get("/benchmark-runs/{run:str}/outputs/manifest")
async def get_manifest(request: ApiRequest, edges: Opened, run: FromPath[str], types: Types = None) -> dict[str, Any]:
    workspace = request.user.workspace
    kinds = read_kinds(types)
    found = await edges.outputs.manifest(workspace, await run_id(edges, workspace, run), kinds)
    token = snapshot_token(edges.sealer, found.snapshot)
    files = [{"path": file.path, "size": file.size, "token": token} for file in found.files]
    return {"files": files, "totals": found.totals}


@post("/benchmark-runs/{run:str}/outputs/download-urls", status_code=200, request_max_body_size=BODY_BYTES)
async def get_addresses(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    wanted = await read(request, Wanted)
    identifier = await run_id(edges, request.user.workspace, run)
    places = await _places(edges, request.user.workspace, identifier, wanted.items)
    items = [
        {**item.model_dump(exclude_none=True), "url": address(edges, request, item.path, places[item.token][item.path])}
        for item in wanted.items
    ]
    return {"items": items, "expires_in": edges.settings.download_seconds}


async def _places(edges: Edges, workspace: str, run: str, items: list[Item]) -> dict[str | None, dict[str, Place]]:
    """By token and path. Raises `Invalid`, which the command shows as it is (a 404 it takes for a route that isn't
    there), for a path that isn't in its snapshot."""
    paths: dict[str | None, list[str]] = defaultdict(list)
    for item in items:
        paths[item.token].append(item.path)
    try:
        return {
            token: await edges.outputs.places(await _snapshot(edges, workspace, run, token), wanted)
            for token, wanted in paths.items()
        }
    except NotFound as error:
        raise Invalid(error.message) from error


async def _snapshot(edges: Edges, workspace: str, run: str, token: str | None) -> Snapshot:
    """Without a token, the run as it is now."""
    if token is None:
        return (await edges.outputs.snapshots.take(workspace, run, DEFAULT_KINDS)).snapshot
    return read_snapshot(edges.sealer, workspace, run, token)


HANDLERS: list[Any] = [get_manifest, get_addresses]
