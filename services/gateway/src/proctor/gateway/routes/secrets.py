"""Secrets by name: set, listed without their values, removed. And the vault's key."""

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from litestar import delete, get, post, put
from litestar.params import FromPath, QueryParameter
from pydantic import BaseModel, ConfigDict

from proctor.gateway.answers.accounts import Rotation, Secret, Secrets
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, page
from proctor.gateway.routes.accounts import operators
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.parameters import Cursor, Limit
from proctor.gateway.vault import rotation, secrets
from proctor.service.errors import NotFound


class NewValue(BaseModel):
    """The value is kept as it is, spaces and line breaks included. `user`: your own, in place of the workspace's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    scope: secrets.Scope = "user"


Whose = Annotated[Literal["all"] | secrets.Scope, QueryParameter(name="scope")]
OfScope = Annotated[secrets.Scope, QueryParameter(name="scope")]


@get("/secrets", operation_class=described(Secrets))
async def list_secrets(
    request: ApiRequest,
    edges: Opened,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    whose: Whose = "all",
) -> dict[str, Any]:
    after = decode_cursor(cursor, str, str)
    found, _ = await secrets.listed(edges.pool, request.user, whose, limit + 1, after=after)
    return page([asdict(secret) for secret in found], limit, "name", "scope")


@put("/secrets/{name:str}", operation_class=described(Secret, body=NewValue))
async def set_secret(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    new = await read(request, NewValue)
    return asdict(await secrets.put(edges, request.user, name, new.value, new.scope))


@delete("/secrets/{name:str}", operation_class=described(None))
async def remove_secret(request: ApiRequest, edges: Opened, name: FromPath[str], whose: OfScope = "user") -> None:
    if not await secrets.remove(edges, request.user, name, whose):
        raise NotFound(f"{'the workspace has' if whose == 'workspace' else 'you have'} no secret {name}")


@post("/vault/rotations", guards=[operators], operation_class=described(Rotation, 409))
async def rotate_key(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    return (await rotation.rotate(edges, request.user))._asdict()


HANDLERS: Final = [list_secrets, set_secret, remove_secret, rotate_key]
