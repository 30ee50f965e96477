"""One connection to the bus that never gives up: it reconnects for as long as the process lives."""

import logging

import nats
from nats.aio.client import Client

logger = logging.getLogger(__name__)


async def connect(url: str, name: str, *, wait: bool = True) -> Client:
    """`wait` keeps trying until the server is there; without it an absent server raises `NoServersError` after a
    second attempt (0 attempts would be for ever)."""

    async def on_error(error: Exception) -> None:
        logger.debug("bus: %s", error)

    async def on_disconnected() -> None:
        logger.warning("bus: disconnected, reconnecting")

    async def on_reconnected() -> None:
        logger.warning("bus: connected again")

    return await nats.connect(
        url,
        name=name,
        error_cb=on_error,
        disconnected_cb=on_disconnected,
        reconnected_cb=on_reconnected,
        allow_reconnect=wait,
        max_reconnect_attempts=-1 if wait else 1,
        reconnect_time_wait=0.25,
        ping_interval=5,
        max_outstanding_pings=2,
        pending_size=64 * 1024 * 1024,
    )
