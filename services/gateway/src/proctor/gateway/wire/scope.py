"""Authentication of the osmosis command: a token, and a workspace by its name or by its GitHub repository."""

import re
from typing import Final, NamedTuple, cast

from litestar.connection import ASGIConnection
from litestar.middleware import AbstractAuthenticationMiddleware, AuthenticationResult

from proctor.gateway.access.middleware import UNSCOPED, Caller, address_of
from proctor.gateway.access.tokens import bearer
from proctor.service.errors import Invalid

GIT_HEADER: Final = "x-osmosis-git"
WORKSPACE_HEADER: Final = "x-osmosis-workspace"
_REPO: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?/[a-z0-9._-]+")


class WorkspaceScope(NamedTuple):
    """At most one of the two is given."""

    workspace: str | None
    repo: str | None


def read_scope(workspace: str | None, git: str | None, *, required: bool) -> WorkspaceScope:
    if workspace is not None and git is not None:
        raise Invalid(
            "send either X-Osmosis-Workspace or X-Osmosis-Git, not both", code="WORKSPACE_SCOPE_HEADER_CONFLICT"
        )
    if git is not None and _REPO.fullmatch(git.lower()) is None:
        raise Invalid("X-Osmosis-Git must read owner/repository", code="GIT_SCOPE_HEADER_INVALID")
    if required and workspace is None and git is None:
        raise Invalid(
            "name a workspace: X-Osmosis-Workspace (osmosis --workspace NAME) or X-Osmosis-Git (run it in a clone of "
            "the repository that the workspace is bound to)",
            code="GIT_SCOPE_HEADER_REQUIRED",
        )
    return WorkspaceScope(workspace, None if git is None else git.lower())


class WireAuthentication(AbstractAuthenticationMiddleware):
    """By the `SignIn` of the application's state. Routes that are `UNSCOPED` need no workspace."""

    async def authenticate_request(self, connection: ASGIConnection) -> AuthenticationResult:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        authorization = connection.headers.get("authorization")
        bearer(authorization)
        scoped = not connection.route_handler.opt.get(UNSCOPED, False)
        workspace, repo = read_scope(
            connection.headers.get(WORKSPACE_HEADER), connection.headers.get(GIT_HEADER), required=scoped
        )
        principal = await connection.app.state.sign_in(
            authorization, address_of(cast("Caller", connection)), workspace=workspace, repo=repo, scoped=scoped
        )
        return AuthenticationResult(user=principal, auth="bearer")
