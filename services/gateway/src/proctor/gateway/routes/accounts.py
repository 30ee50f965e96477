"""Tokens and users, and the log of who changed what."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from litestar import delete, get, post
from litestar.handlers.base import BaseRouteHandler
from litestar.params import FromPath, QueryParameter
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, StrictBool

from proctor.gateway import audit
from proctor.gateway.access import tokens, users
from proctor.gateway.access.fields import Email, Label
from proctor.gateway.access.middleware import UNSCOPED, Caller, at_least
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.answers.accounts import Audit, CreatedToken, Tokens, User, Users
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, page
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.parameters import Cursor, Limit
from proctor.service.errors import Conflicting, Forbidden, Invalid, Issue, NotFound

LONGEST: Final = timedelta(days=3650)
_FREE: Final = {UNSCOPED: True}

ForUser = Annotated[str | None, QueryParameter(name="user", max_length=254)]
"""The e-mail of another, for operators."""


def _soon(moment: datetime) -> datetime:
    if not timedelta() < moment - datetime.now(UTC) <= LONGEST:
        raise ValueError("must be in the future, and within ten years")
    return moment


class NewToken(BaseModel):
    """`user`: the e-mail of another, for operators. Without `expires_at` it ends with the token it is made with, or
    never does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Label
    expires_at: Annotated[AwareDatetime, AfterValidator(_soon)] | None = None
    user: Email | None = None


class NewUser(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Label
    email: Email
    operator: StrictBool = False


def operators(connection: Caller, _: BaseRouteHandler) -> None:
    """A guard: refuses everyone else."""
    _check_operator(connection.user)


def _check_operator(who: Principal) -> None:
    if not who.operator:
        raise Forbidden("only an operator of this installation may do this")


@get("/tokens", opt=_FREE, operation_class=described(Tokens, 404))
async def list_tokens(
    request: ApiRequest, edges: Opened, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, user: ForUser = None
) -> dict[str, Any]:
    holder = await _holder(edges, request.user, user)
    before = decode_cursor(cursor, str)
    return page(await tokens.tokens_of(edges.pool, holder, before[0] if before else None, limit + 1), limit, "id")


@post("/tokens", opt=_FREE, operation_class=described(CreatedToken, 404, body=NewToken))
async def create_token(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    who = request.user
    edges.limits.check("tokens", who.user)
    new = await read(request, NewToken)
    expires_at = _within(who, new.expires_at)
    holder = await _holder(edges, who, new.user)
    async with edges.pool.acquire() as connection, connection.transaction():
        issued = await tokens.issue(connection, holder=holder, name=new.name, expires_at=expires_at)
        await audit.record(
            connection,
            workspace=who.workspace,
            actor=who.user,
            action="token.created",
            target=issued.id,
            detail={"name": new.name, "holder": holder, "expires_at": expires_at},
        )
    return {"name": new.name, **issued._asdict()}


@delete("/tokens/{token:str}", opt=_FREE, operation_class=described(None, 409))
async def revoke_token(request: ApiRequest, edges: Opened, token: FromPath[str], user: ForUser = None) -> None:
    who = request.user
    holder = await _holder(edges, who, user)
    async with edges.pool.acquire() as connection, connection.transaction():
        if not await tokens.revoke(connection, holder, token):
            raise await _irrevocable(edges, holder, token)
        await audit.record(
            connection,
            workspace=who.workspace,
            actor=who.user,
            action="token.revoked",
            target=token,
            detail={"holder": holder},
        )


@get("/users", guards=[operators], opt=_FREE, operation_class=described(Users))
async def list_users(edges: Opened, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> dict[str, Any]:
    after = decode_cursor(cursor, str)
    return page(await users.listed(edges.pool, after[0] if after else None, limit + 1), limit, "email")


@post("/users", guards=[operators], opt=_FREE, operation_class=described(User, 409, body=NewUser))
async def create_user(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    new = await read(request, NewUser)
    return await users.create(edges.pool, request.user, **new.model_dump())


@get("/audit", guards=[at_least(Role.ADMIN)], operation_class=described(Audit))
async def list_audit(
    request: ApiRequest, edges: Opened, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> dict[str, Any]:
    before = decode_cursor(cursor, int)
    rows = await audit.listed(edges.pool, request.user.workspace, before[0] if before else None, limit + 1)
    return page(rows, limit, "id")


def _within(who: Principal, asked: datetime | None) -> datetime | None:
    """When the new token ends: not after the one that it is made with."""
    latest = who.expires_at
    if asked is not None and latest is not None and asked > latest:
        message = f"must not be after {latest.isoformat()}, when the token that you make it with expires"
        raise Invalid(f"expires_at: {message}", issues=(Issue("expires_at", message),))
    return asked or latest


async def _holder(edges: Edges, who: Principal, email: str | None) -> str:
    """Whose tokens are meant: the caller's own, or for an operator those of the user with that e-mail."""
    if email is None:
        return who.user
    _check_operator(who)
    return (await users.by_email(edges.pool, email))["id"]


async def _irrevocable(edges: Edges, holder: str, token: str) -> NotFound | Conflicting:
    if await tokens.is_from_home(edges.pool, holder, token):
        return Conflicting("this is the token in $PROCTOR_HOME/token; to replace it, remove that file and start again")
    return NotFound(f"there is no token {token!r} of this user, or it was revoked already")


HANDLERS: Final = [list_tokens, create_token, revoke_token, list_users, create_user, list_audit]
