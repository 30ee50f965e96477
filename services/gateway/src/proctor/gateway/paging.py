"""Opaque cursors: the key of the last row of a page."""

import base64
import binascii
import json
from typing import Any, Final, cast

from proctor.gateway.text import storable
from proctor.service.errors import Invalid, Issue

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50
INT: Final = 2**31 - 1


def encode_cursor(*key: int | str) -> str:
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(text: str | None, *kinds: type[int | str], largest: int = 2**62) -> tuple[Any, ...] | None:
    """The key, of those types, with no number beyond the largest. Raises `Invalid` for anything that `encode_cursor`
    didn't make."""
    if text is None:
        return None
    try:
        key = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        key = None
    fits = isinstance(key, list) and [type(part) for part in cast("list[object]", key)] == list(kinds)
    if not fits or not all(_usable(part, largest) for part in cast("list[int | str]", key)):
        message = "isn't a cursor of this list; leave it out to start at the first page"
        raise Invalid(f"cursor: {message}", issues=(Issue("cursor", message),))
    return tuple(cast("list[Any]", key))


def _usable(part: int | str, largest: int) -> bool:
    return storable(part) if isinstance(part, str) else abs(part) <= largest


def page(items: list[Any], limit: int, *key: str) -> dict[str, Any]:
    """A page of `items`, read one beyond the limit; `key` names the columns its cursor is made of."""
    shown = items[:limit]
    more = len(items) > limit
    return {"items": shown, "next_cursor": encode_cursor(*(shown[-1][column] for column in key)) if more else None}
