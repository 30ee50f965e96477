"""An ordered reader of the EVENTS stream that heals itself: a gap, a lost consumer or a restarted server makes it
start again right after the last message it gave out."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError, NoStreamResponseError

from proctor.contracts import subjects

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 2.0
BATCH: Final = 1_000


class _Gap(Exception):
    pass


async def deliveries(
    connection: Client, filters: Sequence[str], after: int, *, until_end: bool
) -> AsyncGenerator[list[Msg]]:
    """Messages after the position in log order, in non-empty batches. `until_end` stops at what is there now."""
    position = after
    while True:
        subscription: Subscription | None = None
        try:
            inbox = connection.new_inbox()
            subscription = await connection.subscribe(inbox, pending_msgs_limit=-1, pending_bytes_limit=-1)
            pending = await _create(connection, inbox, filters, position)
            if until_end and pending == 0:
                return
            delivered = 0
            while True:
                batch = await _batch(connection, subscription, delivered)
                if batch:
                    delivered += len(batch)
                    position = batch[-1].metadata.sequence.stream
                    yield batch
                    if until_end and batch[-1].metadata.num_pending == 0:
                        return
        except (_Gap, nats.errors.Error, APIError, NoStreamResponseError, TimeoutError, OSError) as error:
            if connection.is_closed:
                raise
            logger.debug("reading again after %d: %r", position, error)
            await asyncio.sleep(0.1)
        finally:
            if subscription is not None and not connection.is_closed:
                await _unsubscribe(subscription)


async def _create(connection: Client, inbox: str, filters: Sequence[str], after: int) -> int:
    """How many messages wait for the new consumer."""
    info = await connection.jetstream(timeout=5).add_consumer(
        subjects.EVENTS_STREAM,
        ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            filter_subjects=list(filters),
            ack_policy=AckPolicy.NONE,
            max_deliver=1,
            flow_control=True,
            idle_heartbeat=HEARTBEAT_SECONDS,
            mem_storage=True,
            num_replicas=1,
            inactive_threshold=30,
        ),
    )
    delivered = info.delivered.consumer_seq if info.delivered else 0
    return (info.num_pending or 0) + delivered


async def _batch(connection: Client, subscription: Subscription, delivered: int) -> list[Msg]:
    """The next messages that are there, at least one unless a heartbeat came. Raises `_Gap` when one is missing."""
    batch: list[Msg] = []
    message = await subscription.next_msg(timeout=3 * HEARTBEAT_SECONDS)
    while True:
        if message.reply and message.reply.startswith("$JS.ACK."):
            if message.metadata.sequence.consumer != delivered + len(batch) + 1:
                raise _Gap
            batch.append(message)
        else:
            await _control(connection, message, delivered + len(batch))
        if len(batch) >= BATCH or subscription.pending_msgs == 0:
            return batch
        message = await subscription.next_msg(timeout=1)


async def _control(connection: Client, message: Msg, delivered: int) -> None:
    """Heartbeats say what was sent so far; flow control wants an answer."""
    headers = message.headers or {}
    stalled = headers.get("Nats-Consumer-Stalled")
    if message.reply or stalled:
        await connection.publish(message.reply or str(stalled), b"")
    last = headers.get("Nats-Last-Consumer")
    if last is not None and int(last) != delivered:
        raise _Gap


async def _unsubscribe(subscription: Subscription) -> None:
    try:
        await subscription.unsubscribe()
    except (nats.errors.Error, OSError):
        logger.debug("unsubscribed by the lost connection")
