"""What no handler has to be asked: a NUL is part of no id and no name, and no query of the database may hold one; what
is said twice may be read either way."""

from collections import Counter
from typing import Any, Final

from litestar import Request

from proctor.gateway.text import storable
from proctor.service.errors import Invalid, Issue, NotFound

REPEATABLE: Final = frozenset({"status", "tag"})


async def refuse_unfit(request: Request[Any, Any, Any]) -> None:
    """Before every handler. Raises `NotFound` for a path and `Invalid` for a parameter."""
    if not storable(request.scope["path"]):
        raise NotFound("there is nothing at this path: it holds a NUL character")
    given = list(request.query_params.multi_items())
    counts = Counter(name for name, _ in given)
    issues = (
        *(
            Issue(name.replace("\0", ""), "must not hold a NUL character; leave it out")
            for name, value in given
            if not storable(name + value)
        ),
        *(
            Issue(name, f"is there {count} times; give it once")
            for name, count in counts.items()
            if count > 1 and name not in REPEATABLE
        ),
    )
    if issues:
        raise Invalid("; ".join(f"{issue.key}: {issue.message}" for issue in issues), issues=issues)
