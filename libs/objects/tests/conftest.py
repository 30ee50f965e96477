"""A store on a bus of the test's own."""

from collections.abc import AsyncIterator
from typing import Protocol

import pytest
from nats.aio.client import Client

from proctor.eventlog import connect, ensure_streams


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


@pytest.fixture
async def own(nats_server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setattr("proctor.objects.store.ANSWER_SECONDS", 1.0)
    connection = await connect(nats_server.url, "test")
    await ensure_streams(connection)
    yield connection
    await connection.close()
