"""What no handler has to be asked: a NUL is part of no id and no name, and no query of the database may hold one."""

from typing import Any

from litestar import Request

from proctor.gateway.text import storable
from proctor.service.errors import Invalid, Issue, NotFound


async def refuse_nul(request: Request[Any, Any, Any]) -> None:
    """Before every handler. Raises `NotFound` for a path and `Invalid` for a parameter."""
    if not storable(request.scope["path"]):
        raise NotFound("there is nothing at this path: it holds a NUL character")
    issues = tuple(
        Issue(name.replace("\0", ""), "must not hold a NUL character; leave it out")
        for name, value in request.query_params.multi_items()
        if not storable(name + value)
    )
    if issues:
        raise Invalid("; ".join(f"{issue.key}: {issue.message}" for issue in issues), issues=issues)
