"""What becomes of a message whose handler fails, on a real broker."""

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from typing import Protocol

import nats.errors
import pytest
from faststream.nats import JStream, NatsBroker, PullSub
from nats.aio.client import Client
from nats.js.api import AckPolicy as BusAckPolicy
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig
from pydantic import BaseModel

from proctor.eventlog import connect
from proctor.service.broker import answers, connection_of, make_broker


class Server(Protocol):
    url: str
    process: subprocess.Popen[bytes]


class Note(BaseModel):
    text: str


@pytest.fixture
async def queue(bus: Client, workspace: str) -> AsyncIterator[str]:
    """A work queue of the test's own, called like its subject."""
    js = bus.jetstream()
    await js.add_stream(StreamConfig(name=workspace, subjects=[workspace], retention=RetentionPolicy.WORK_QUEUE))
    consumer = ConsumerConfig(durable_name="d", ack_policy=BusAckPolicy.EXPLICIT, ack_wait=30)
    await js.add_consumer(workspace, consumer)
    yield workspace
    await js.delete_stream(workspace)


@pytest.fixture
async def broker(nats_url: str) -> AsyncIterator[NatsBroker]:
    made = make_broker(nats_url, "test")
    yield made
    await made.stop()


class Handler:
    """Notes when it was called with what; raises what is in `raises`, in turn."""

    def __init__(self, broker: NatsBroker, queue: str, *raises: BaseException | None) -> None:
        self.raises, self.calls = list(raises), list[tuple[float, str]]()

        @broker.subscriber(
            queue,
            stream=JStream(queue, declare=False),
            durable="d",
            pull_sub=PullSub(batch_size=1, timeout=0.2),
            config=ConsumerConfig(),
        )
        async def handle(note: Note) -> None:
            self.calls.append((asyncio.get_running_loop().time(), note.text))
            error = self.raises.pop(0) if self.raises else None
            if error is not None:
                raise error

        _ = handle

    async def called(self, times: int, seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            while len(self.calls) < times:
                await asyncio.sleep(0.01)


async def left(bus: Client, queue: str) -> int:
    await asyncio.sleep(0.3)
    return (await bus.jetstream().stream_info(queue)).state.messages


async def test_a_failed_message_comes_again_each_time_later(bus: Client, broker: NatsBroker, queue: str) -> None:
    handler = Handler(broker, queue, RuntimeError("one"), ValueError("two"))
    await broker.start()
    await bus.jetstream().publish(queue, b'{"text":"a"}')
    await handler.called(3)
    (first, _), (second, _), (third, _) = handler.calls
    assert 0.2 <= second - first < 0.9
    assert 1.0 <= third - second < 2.5
    assert await left(bus, queue) == 0, "in the end it was handled"


async def test_a_message_that_fails_does_not_hold_up_the_next(bus: Client, broker: NatsBroker, queue: str) -> None:
    handler = Handler(broker, queue, RuntimeError("one"))
    await broker.start()
    for text in ("a", "b"):
        await bus.jetstream().publish(queue, b'{"text":"%s"}' % text.encode())
    await handler.called(3)
    assert [text for _, text in handler.calls] == ["a", "b", "a"]


@pytest.mark.parametrize("body", [b'{"words":"a"}', b"not json", b'{"text":7}', b""])
async def test_a_body_that_cannot_be_read_is_dropped_loudly(
    bus: Client, broker: NatsBroker, queue: str, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    handler = Handler(broker, queue)
    await broker.start()
    with caplog.at_level(logging.ERROR):
        await bus.jetstream().publish(queue, body)
        await bus.jetstream().publish(queue, b'{"text":"good"}')
        await handler.called(1)
    assert [text for _, text in handler.calls] == ["good"]
    assert await left(bus, queue) == 0
    assert "dropped" in caplog.text


async def test_a_cancelled_handler_gives_its_message_back_at_once(
    bus: Client, nats_url: str, broker: NatsBroker, queue: str
) -> None:
    handler = Handler(broker, queue, asyncio.CancelledError())
    await broker.start()
    await bus.jetstream().publish(queue, b'{"text":"a"}')
    await handler.called(1)
    second = make_broker(nats_url, "second")
    other = Handler(second, queue)
    await second.start()
    async with asyncio.timeout(5):
        while len(handler.calls) + len(other.calls) < 2:
            await asyncio.sleep(0.01)
    await second.stop()
    again = (handler.calls[1:] + other.calls)[0]
    assert again[0] - handler.calls[0][0] < 5, "long before the 30 s of the ack"


async def asked(bus: Client, subject: str) -> None:
    """A request, once somebody listens."""
    while True:
        try:
            await bus.request(subject, b'{"text":"a"}', timeout=0.5)
        except nats.errors.NoRespondersError:
            await asyncio.sleep(0.02)
        else:
            return


async def test_a_failed_request_is_not_answered_and_harms_nothing(
    bus: Client, broker: NatsBroker, workspace: str
) -> None:
    failing = True

    @broker.subscriber(workspace)
    async def handle(note: Note) -> Note:
        if failing:
            raise RuntimeError("a bug")
        return note

    _ = handle
    await broker.start()
    with pytest.raises(TimeoutError):
        await asked(bus, workspace)
    failing = False
    assert (await bus.request(workspace, b'{"text":"a"}', timeout=2)).data == b'{"text":"a"}'


async def test_the_brokers_connection_is_shared(broker: NatsBroker, bus: Client) -> None:
    with pytest.raises(RuntimeError, match="isn't connected"):
        connection_of(broker)
    await broker.connect()
    assert await answers(connection_of(broker))


async def test_a_frozen_server_is_not_healthy(nats_server: Server) -> None:
    connection = await connect(nats_server.url, "test")
    assert await answers(connection)
    nats_server.process.send_signal(signal.SIGSTOP)
    os.waitpid(nats_server.process.pid, os.WUNTRACED)
    try:
        assert not await answers(connection, 0.5)
        assert connection.is_connected, "which is why being connected says nothing"
    finally:
        nats_server.process.send_signal(signal.SIGCONT)
    assert await answers(connection)
    await connection.close()
    assert not await answers(connection)
