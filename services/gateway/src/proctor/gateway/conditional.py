"""Conditional requests for documents: a strong ETag of the very bytes, and 304 for who has them already."""

import hashlib
from typing import Final

from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

from proctor.gateway.outputs.ranges import is_listed

CACHE_CONTROL: Final = "private, no-cache"
_OF_THE_BODY: Final = ("content-length", "content-type", "content-disposition")


def conditional(app: ASGIApp) -> ASGIApp:
    """The middleware of a handler that answers a document whole. Its queries are made all the same: what is saved is
    the way to the caller, and its work."""

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        started: HTTPResponseStartEvent | None = None
        asked = Headers.from_scope(scope).get("if-none-match", "")

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = message
                return
            if message["type"] == "http.response.body" and started is not None:
                if started["status"] == 200 and not message.get("more_body"):
                    message["body"] = _answered(started, message["body"], asked)
                await send(started)
                started = None
            await send(message)

        await app(scope, receive, answer)

    return middleware


def _answered(started: HTTPResponseStartEvent, body: bytes, asked: str) -> bytes:
    """What is left to send of the body."""
    headers = MutableScopeHeaders.from_message(started)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers["etag"], headers["cache-control"] = tag, CACHE_CONTROL
    if not is_listed(asked, tag):
        return body
    started["status"] = 304
    for name in _OF_THE_BODY:
        if name in headers:
            del headers[name]
    return b""
