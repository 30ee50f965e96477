"""Pages by offset, as the osmosis command walks them."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from litestar.params import QueryParameter

MAX_LIMIT: Final = 50

Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=MAX_LIMIT)]
Offset = Annotated[int, QueryParameter(name="offset", ge=0, le=2**31)]


def page(name: str, items: Sequence[Any], total: int, offset: int) -> dict[str, Any]:
    """A page that ends at the total or holds nothing is the last one."""
    end = offset + len(items)
    more = bool(items) and end < total
    return {name: list(items), "total_count": total, "has_more": more, "next_offset": end if more else None}
