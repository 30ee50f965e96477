"""Whether the process lives, and whether it can do its work."""

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

from litestar import Response, get
from nats.errors import Error as BusError

from proctor.gateway import lag
from proctor.gateway.answers.platform import Liveness, Readiness
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.routes.fleet import FLEET_LIST
from proctor.gateway.routes.operations import described
from proctor.service.broker import answers
from proctor.service.postgres import Pool


@get("/healthz", sync_to_thread=False, operation_class=described(Liveness))
def live() -> dict[str, str]:
    return {"status": "ok"}


@get("/readyz", operation_class=described(Readiness, also={503: Readiness}))
async def ready(edges: Opened) -> Response[dict[str, Any]]:
    nats, postgres, scheduler = await asyncio.gather(
        answers(edges.connection), _answers(edges.pool), _scheduler_answers(edges)
    )
    projection = await _projection(edges) if nats else {"ok": False, "position": edges.feed.position, "lag": None}
    checks = {
        "nats": {"ok": nats},
        "postgres": {"ok": postgres},
        "projection": projection,
        "scheduler": {"ok": scheduler},
    }
    well = all(check["ok"] for check in checks.values())
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


async def _scheduler_answers(edges: Edges) -> bool:
    try:
        await edges.connection.request(FLEET_LIST, b"{}", timeout=1)
    except (BusError, TimeoutError):
        return False
    return True


async def _projection(edges: Edges) -> dict[str, Any]:
    """`lag` counts the log's events that the read models don't show yet; they are well as long as none of those waits
    for long."""
    position = edges.feed.position
    if position >= 0:
        with contextlib.suppress(BusError, TimeoutError):
            oldest = await lag.oldest_unseen(edges.connection, position)
            behind = 0 if oldest is None else max(0, await edges.log.last_sequence() - position)
            return {"ok": not lag.late(oldest, datetime.now(UTC)), "position": position, "lag": behind}
    return {"ok": False, "position": position, "lag": None}
