"""Whether the process lives, and whether it can do its work."""

import asyncio
import contextlib
from typing import Any

from litestar import Response, get
from nats.errors import Error as BusError

from proctor.gateway.edges import Edges, Opened
from proctor.service.broker import answers
from proctor.service.postgres import Pool


@get("/healthz", sync_to_thread=False)
def live() -> dict[str, str]:
    return {"status": "ok"}


@get("/readyz")
async def ready(edges: Opened) -> Response[dict[str, Any]]:
    nats, postgres = await asyncio.gather(answers(edges.connection), _answers(edges.pool))
    projection = await _projection(edges) if nats else {"ok": False, "position": edges.feed.position, "lag": None}
    well = nats and postgres and projection["ok"]
    checks = {"nats": {"ok": nats}, "postgres": {"ok": postgres}, "projection": projection}
    body: dict[str, Any] = {"status": "ready" if well else "unready", "checks": checks}
    return Response(body, status_code=200 if well else 503)


async def healthy(edges: Edges) -> bool:
    """What the ready file says: the parts that this service can't do without."""
    return all(await asyncio.gather(answers(edges.connection), _answers(edges.pool)))


async def _answers(pool: Pool) -> bool:
    try:
        async with asyncio.timeout(2):
            return await pool.fetchval("SELECT 1") == 1
    except Exception:  # noqa: BLE001 - whatever it is, it is not healthy
        return False


async def _projection(edges: Edges) -> dict[str, Any]:
    """`lag` counts the log's events that the read models don't show yet."""
    last = None
    with contextlib.suppress(BusError, TimeoutError):
        last = await edges.log.last_sequence()
    position = edges.feed.position
    lag = max(0, last - position) if last is not None and position >= 0 else None
    return {"ok": lag is not None, "position": position, "lag": lag}
