"""The live feed of a run: what was committed, so that a page knows when to look again."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Annotated, Final

from litestar import get
from litestar.params import FromPath, HeaderParameter
from litestar.response import ServerSentEvent
from litestar.response.sse import ServerSentEventMessage

from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.feed import ProjectionFeed
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.runs import run_id

LEAST_SECONDS: Final = 0.25
KEEP_ALIVE_SECONDS: Final = 15.0
RETRY_MILLISECONDS: Final = 2000


@get(
    "/{run:str}/events",
    media_type="text/event-stream",
    operation_class=described({"type": "string"}, answer_types=("text/event-stream",)),
)
async def run_events(
    request: ApiRequest,
    edges: Opened,
    run: FromPath[str],
    last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
) -> ServerSentEvent:
    workspace = request.user.workspace
    of = (workspace, await run_id(edges, workspace, run))
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() else None
    return ServerSentEvent(changes(edges.feed, of, seen, edges.stop), retry_duration=RETRY_MILLISECONDS)


async def changes(
    feed: ProjectionFeed, of: tuple[str, str], seen: int | None, stop: asyncio.Event
) -> AsyncGenerator[ServerSentEventMessage]:
    """A message now, unless nothing at all was committed since `seen`, and after each change, 4 a second at most;
    `bye` when the server stops."""
    with feed.watch(of) as changed:
        if seen != feed.position:
            changed.set()
        while not stop.is_set():
            if not await _set_within(changed, KEEP_ALIVE_SECONDS):
                yield ServerSentEventMessage(comment="keep-alive", data=None)
                continue
            changed.clear()
            if stop.is_set():
                break
            if feed.position < 0:
                continue
            yield _message("change", {"what": "run", "position": feed.position}, str(feed.position))
            await _set_within(stop, LEAST_SECONDS)
    yield _message("bye", {})


def _message(event: str, data: dict[str, object], identifier: str | None = None) -> ServerSentEventMessage:
    return ServerSentEventMessage(event=event, data=json.dumps(data), id=identifier)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
