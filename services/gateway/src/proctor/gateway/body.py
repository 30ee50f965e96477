"""Reads request bodies: JSON objects, and archives that are spooled to disk while their digest is taken."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Iterable
from typing import Any, BinaryIO, Final, NamedTuple, cast

from litestar import Request
from litestar.datastructures import State
from litestar.exceptions import HTTPException, InternalServerException
from pydantic_core import from_json

from proctor.gateway.access.principal import Principal
from proctor.service.errors import Invalid, TooLarge

ApiRequest = Request[Principal, str, State]

ARCHIVE_TYPES: Final = frozenset({"application/gzip", "application/x-gzip", "application/octet-stream"})
_GZIP: Final = b"\x1f\x8b"


MOST_KEYS: Final = 1000
MOST_TABLES: Final = 10_000


class Upload(NamedTuple):
    digest: str
    size: int


async def read_object(request: ApiRequest) -> dict[str, Any]:
    """The body as a JSON object; an empty one where there is none."""
    data = b"".join([chunk async for chunk in _chunks(request)])
    if not data.strip():
        return {}
    _check_type(request, frozenset({"application/json"}))
    try:
        body = from_json(data)
    except ValueError as error:
        raise Invalid(f"the body isn't JSON: {error}") from None
    if not isinstance(body, dict):
        raise Invalid("the body must be a JSON object")
    table = cast("dict[str, Any]", body)
    if _crowded(table):
        raise Invalid(f"the body has a table of over {MOST_KEYS:,} keys, or over {MOST_TABLES:,} tables and lists")
    return table


def _crowded(body: object) -> bool:
    """What no request needs, and each key of which would be looked at."""
    left, tables = [body], 0
    while left and tables <= MOST_TABLES:
        one = left.pop()
        tables += 1
        items = cast("Iterable[object]", one)
        if isinstance(one, dict):
            table = cast("dict[str, object]", one)
            if len(table) > MOST_KEYS:
                return True
            items = table.values()
        left += [item for item in items if isinstance(item, dict | list)]
    return tables > MOST_TABLES


async def spool_archive(request: ApiRequest, file: BinaryIO, limit: int) -> Upload:
    """Copy the body into the file. Raises `TooLarge` at the limit, without reading on, and `Invalid` when it isn't a
    gzip."""
    _check_type(request, ARCHIVE_TYPES)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    digest, size = hashlib.sha256(), 0
    async for chunk in _chunks(request):
        if size == 0 and chunk and not chunk.startswith(_GZIP[: len(chunk)]):
            raise Invalid("the body isn't a tar.gz")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        digest.update(chunk)
        await asyncio.to_thread(file.write, chunk)
    if size < len(_GZIP):
        raise Invalid("the body is empty; send a tar.gz")
    return Upload(digest.hexdigest(), size)


async def _chunks(request: ApiRequest) -> AsyncGenerator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except InternalServerException:
        raise Invalid("the connection ended before the body was whole") from None


def _check_type(request: ApiRequest, allowed: frozenset[str]) -> None:
    if request.content_type[0] not in allowed:
        wanted = " or ".join(sorted(allowed))
        raise HTTPException(f"send the body with the Content-Type {wanted}", status_code=415)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the archive is larger than {limit // 1024**2} MiB (PROCTOR_UPLOAD_BYTES)")
