"""Conditional and partial requests (RFC 9110) for files that never change under their address: pure."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)


class Part(NamedTuple):
    """`size` bytes from `offset` of the file, and how that is answered: 200, 206, 304 or 416."""

    status: int
    offset: int = 0
    size: int = 0


def etag(*identity: str | int) -> str:
    """A strong one, of whatever tells the bytes from all others."""
    return f'"{hashlib.sha256(repr(identity).encode()).hexdigest()[:32]}"'


def part(headers: Mapping[str, str], tag: str, size: int) -> Part:
    """What of a file is asked for. Several ranges at once, or what isn't one, get the whole file."""
    if is_listed(headers.get("if-none-match", ""), tag):
        return Part(304)
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None or not (match[1] or match[2]) or headers.get("if-range", tag) != tag:
        return Part(200, 0, size)
    first = int(match[1]) if match[1] else max(0, size - int(match[2]))
    last = min(int(match[2]), size - 1) if match[1] and match[2] else size - 1
    if match[1] and match[2] and int(match[2]) < first:
        return Part(200, 0, size)
    return Part(206, first, last - first + 1) if first <= last else Part(416)


def is_listed(header: str, tag: str) -> bool:
    """Whether an If-None-Match has the tag; compared weakly, as it is for a GET."""
    return header.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in header.split(","))
