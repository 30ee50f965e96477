"""A server of the test's own with its streams, and short ways to write."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest
from nats.aio.client import Client

from proctor.eventlog import connect, ensure_streams


class Server(Protocol):
    url: str
    folder: Path

    def start(self) -> None: ...
    def kill(self, number: int = ...) -> None: ...


@pytest.fixture
async def own(nats_server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A connection to a server that the test may kill; an ack that went with it is soon given up."""
    monkeypatch.setattr("proctor.eventlog.log.ACK_SECONDS", 0.5)
    monkeypatch.setattr("proctor.eventlog.consumer.HEARTBEAT_SECONDS", 0.3)
    connection = await connect(nats_server.url, "test")
    await ensure_streams(connection)
    yield connection
    await connection.close()
