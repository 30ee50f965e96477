"""`osmosis secret`: names and metadata, never a value."""

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from litestar import delete, get, post
from litestar.params import QueryParameter

from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.edges import Opened
from proctor.gateway.vault import secrets
from proctor.gateway.wire.paging import MAX_LIMIT, Limit, Offset, page
from proctor.service.errors import NotFound

_PATH: Final = "/environment-secrets"
_SHOWN: Final = ("id", "name", "scope", "created_at", "updated_at", "creator_name", "updater_name")


@get(_PATH)
async def list_secrets(
    request: ApiRequest,
    edges: Opened,
    limit: Limit = MAX_LIMIT,
    offset: Offset = 0,
    whose: Annotated[Literal["all"] | secrets.Scope, QueryParameter(name="scope")] = "all",
) -> dict[str, Any]:
    found, total = await secrets.listed(edges.pool, request.user, whose, limit, offset)
    return page("environment_secrets", [_shape(secret) for secret in found], total, offset)


@post(_PATH, status_code=200)
async def set_secret(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    body = await read_object(request)
    return _shape(
        await secrets.put(edges, request.user, body.get("name"), body.get("value"), body.get("scope", "user"))
    )


@delete(_PATH)
async def remove_secret(request: ApiRequest, edges: Opened) -> None:
    body = await read_object(request)
    name, scope = body.get("name"), body.get("scope", "user")
    if not await secrets.remove(edges, request.user, name, scope):
        raise NotFound(f"there is no secret {name} in this scope")


def _shape(secret: secrets.Secret) -> dict[str, Any]:
    shown = asdict(secret)
    return {field: shown[field] for field in _SHOWN}


HANDLERS: Final[list[Any]] = [list_secrets, set_secret, remove_secret]
