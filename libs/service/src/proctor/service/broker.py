"""The FastStream broker as every service uses it, with the cure for its defaults in one middleware."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Final

import anyio
import nats.errors
from faststream import AckPolicy, BaseMiddleware
from faststream.exceptions import HandlerException, NackMessage, RejectMessage
from faststream.message import StreamMessage
from faststream.nats import NatsBroker
from nats.aio.client import Client
from pydantic import ValidationError

from proctor.eventlog import connect
from proctor.service.errors import NotAvailable
from proctor.service.process import unless_stopped

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = (0.2, 1.0, 5.0, 15.0, 30.0)


class Redeliver(BaseMiddleware):
    """A handler that raises gets its message again, later each time; a body that can't be read is dropped, loudly;
    a cancelled handler gives its message back at once. FastStream's own policies lose the first and hammer the
    second."""

    async def consume_scope(self, call_next: Callable[[Any], Awaitable[Any]], msg: StreamMessage[Any]) -> Any:  # noqa: ANN401 - FastStream's own signature
        try:
            return await call_next(msg)
        except HandlerException:
            raise
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await msg.nack()
            raise
        except ValidationError:
            logger.exception("a message that can't be read was dropped")
            raise RejectMessage from None
        except Exception as error:
            delay = _delay(msg)
            logger.exception("a handler failed; its message comes again in %.1f s", delay)
            raise NackMessage(delay=delay) from error


def _delay(msg: StreamMessage[Any]) -> float:
    metadata = getattr(msg.raw_message, "metadata", None) if getattr(msg.raw_message, "reply", "") else None
    delivered = getattr(metadata, "num_delivered", None) or 1
    return RETRY_SECONDS[min(int(delivered), len(RETRY_SECONDS)) - 1]


class Broker(NatsBroker):
    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """While the bus is away there is nothing to drain, and FastStream would raise."""
        with contextlib.suppress(nats.errors.ConnectionReconnectingError):
            await super().stop(exc_type, exc_val, exc_tb)


def make_broker(url: str, name: str) -> NatsBroker:
    """Reconnects for ever, and says so. Acknowledges only what was handled."""

    async def on_disconnected() -> None:
        logger.warning("bus: disconnected, reconnecting")

    async def on_reconnected() -> None:
        logger.warning("bus: connected again")

    return Broker(
        url,
        name=name,
        max_reconnect_attempts=-1,
        reconnect_time_wait=1,
        ping_interval=5,
        max_outstanding_pings=2,
        pending_size=64 * 1024 * 1024,
        disconnected_cb=on_disconnected,
        reconnected_cb=on_reconnected,
        ack_policy=AckPolicy.NACK_ON_ERROR,
        middlewares=[Redeliver],
        logger=None,
    )


async def open_broker(url: str, name: str, stop: asyncio.Event) -> NatsBroker:
    """Connected, however long the bus takes to come up; `Stopped` when `stop` comes first. Raises `NotAvailable` when
    the bus refuses us."""
    broker = make_broker(url, name)
    await _connected(url, stop, broker.connect())
    return broker


async def open_bus(url: str, name: str, stop: asyncio.Event) -> Client:
    """The same without FastStream, for services that only follow the log."""
    return await _connected(url, stop, connect(url, name))


async def _connected[T](url: str, stop: asyncio.Event, coming: Coroutine[Any, Any, T]) -> T:
    shown = without_credentials(url)
    try:
        return await unless_stopped(stop, coming, f"the bus at {shown}")
    except (nats.errors.Error, ValueError) as error:
        if "authorization" in str(error).lower():
            hint = "use nats://USER:PASSWORD@HOST:PORT"
            raise NotAvailable(f"the bus at {shown} refuses these credentials: {hint}") from error
        raise NotAvailable(f"the bus at {shown} can't be used: {error}") from error


def without_credentials(url: str) -> str:
    return re.sub(r"//[^@/]*@", "//", url)


def connection_of(broker: NatsBroker) -> Client:
    """The connected client, shared with the log and the object store."""
    client = broker._connection  # pyright: ignore[reportPrivateUsage]
    if client is None:
        raise RuntimeError("the broker isn't connected yet")
    return client


async def answers(connection: Client, seconds: float = 2) -> bool:
    """Whether JetStream really answers: a ping also succeeds on a frozen server."""
    try:
        await asyncio.wait_for(connection.jetstream(timeout=seconds).account_info(), seconds)
    except Exception:  # noqa: BLE001 - whatever it is, it is not healthy
        return False
    return True
