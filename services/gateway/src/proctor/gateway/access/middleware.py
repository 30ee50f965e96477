"""Authentication in front of every route of the API, and the guard that asks for a role."""

from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.access.tokens import authenticate, bearer
from proctor.service.errors import Forbidden

type Caller = ASGIConnection[Any, Principal, Any, Any]
type Guard = Callable[[Caller, BaseRouteHandler], None]

WORKSPACE_HEADER = "proctor-workspace"


class BearerAuthentication(AbstractAuthenticationMiddleware):
    """Looks tokens up in the pool of the application's state."""

    async def authenticate_request(self, connection: ASGIConnection) -> AuthenticationResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        pool = connection.app.state.pool
        token = bearer(connection.headers.get("authorization"))
        principal = await authenticate(pool, token, connection.headers.get(WORKSPACE_HEADER))
        return AuthenticationResult(user=principal, auth="bearer")


def at_least(role: Role) -> Guard:
    """Refuses callers below the role."""

    def guard(connection: Caller, _: BaseRouteHandler) -> None:
        if not connection.user.may(role):
            raise Forbidden(f"this needs the role {role}; yours in this workspace is {connection.user.role}")

    return guard
