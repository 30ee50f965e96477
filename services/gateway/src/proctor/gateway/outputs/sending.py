"""A file as a response: whole or a part of it, streamed, and never run by a browser."""

from collections.abc import AsyncGenerator, Mapping
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from litestar import Response
from litestar.response import Stream

from proctor.gateway.outputs.ranges import Part, etag, part
from proctor.gateway.outputs.spools import Spool, Spools
from proctor.gateway.outputs.tokens import Place

CHUNK_BYTES: Final = 256 * 1024
_TYPES: Final = {
    "summary.csv": "text/csv; charset=utf-8; header=present",
    "results.csv": "text/csv; charset=utf-8; header=present",
    "logs.txt": "text/plain; charset=utf-8",
    "lock.json": "application/json",
}
_BYTES: Final = "application/octet-stream"
"""An artifact is bytes, whatever it is."""
MEDIA_TYPES: Final = (*dict.fromkeys(_TYPES.values()), _BYTES)


async def respond(spools: Spools, headers: Mapping[str, str], path: str, place: Place) -> Response[None] | Stream:
    """Raises `NotFound` for what is no longer stored."""
    tag = etag(*place)
    found = part(headers, tag, place.size)
    common = {**_headers(path), "ETag": tag, "Accept-Ranges": "bytes"}
    if found.status == 304:
        return Response(None, status_code=304, headers=common)
    if found.status == 416:
        return Response(None, status_code=416, headers={**common, "Content-Range": f"bytes */{place.size}"})
    spool = await spools.get(place.object)
    # as a header: to a media type of text Litestar adds a charset of its own
    typed = {"Content-Type": _TYPES.get(path, _BYTES), "Content-Length": str(found.size)}
    sent = {**common, **typed, **_content_range(found, place.size)}
    return Stream(
        _chunks(spool, place.offset + found.offset, found.size),
        status_code=found.status,
        headers=sent,
    )


async def _chunks(spool: Spool, offset: int, size: int) -> AsyncGenerator[bytes]:
    end = offset + size
    while offset < end:
        chunk = await spool.read(offset, min(CHUNK_BYTES, end - offset))
        if not chunk:
            raise EOFError("an object is shorter than its listing")
        offset += len(chunk)
        yield chunk


def _content_range(found: Part, size: int) -> dict[str, str]:
    if found.status != 206:
        return {}
    return {"Content-Range": f"bytes {found.offset}-{found.offset + found.size - 1}/{size}"}


def _headers(path: str) -> dict[str, str]:
    name = quote(PurePosixPath(path).name, safe="")
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-cache",
    }
