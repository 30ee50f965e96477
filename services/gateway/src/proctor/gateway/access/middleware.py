"""Authentication in front of every route of the API, and the guard that asks for a role."""

from collections.abc import Callable
from typing import Any, Final, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from proctor.gateway.access.principal import Principal, Role
from proctor.service.errors import Forbidden

type Caller = ASGIConnection[Any, Principal, Any, Any]
type Guard = Callable[[Caller, BaseRouteHandler], None]

WORKSPACE_HEADER: Final = "proctor-workspace"
UNSCOPED: Final = "unscoped"
"""In a route's `opt`: also for those who are in no workspace."""


class BearerAuthentication(AbstractAuthenticationMiddleware):
    """By the `SignIn` of the application's state."""

    async def authenticate_request(self, connection: ASGIConnection) -> AuthenticationResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        principal = await connection.app.state.sign_in(
            connection.headers.get("authorization"),
            address_of(cast("Caller", connection)),
            workspace=connection.headers.get(WORKSPACE_HEADER),
            scoped=not connection.route_handler.opt.get(UNSCOPED, False),
        )
        return AuthenticationResult(user=principal, auth="bearer")


def address_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """The client's, as the server sees it or a trusted proxy tells."""
    return connection.client.host if connection.client else ""


def at_least(role: Role) -> Guard:
    """Refuses callers below the role."""

    def guard(connection: Caller, _: BaseRouteHandler) -> None:
        if not connection.user.may(role):
            raise Forbidden(f"this needs the role {role}; yours in this workspace is {connection.user.role}")

    return guard
