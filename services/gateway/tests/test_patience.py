"""Clients that are slow on purpose, that send without an end, or that go away: they lose, nobody else does."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from proctor.gateway import patience

HEAD = "POST /api/v1/{} HTTP/1.1\r\nHost: here\r\nAuthorization: {}\r\nContent-Type: {}\r\n"


class Wire:
    """A socket that speaks whatever it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: str | bytes) -> None:
        self.writer.write(data.encode("latin-1") if isinstance(data, str) else data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, Any]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:"))
        return int(head.split()[1]), json.loads(await self.reader.readexactly(length))

    async def closed(self, seconds: float) -> bool:
        async with asyncio.timeout(seconds):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


@pytest.fixture
async def wires(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """Opens a socket to a gateway without much patience."""
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(patience, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(patience, "LINGER_SECONDS", 0.5)
    place = urlsplit(str(gateway.client.base_url))
    writers: list[asyncio.StreamWriter] = []

    async def connect() -> Wire:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writers.append(writer)
        return Wire(reader, writer)

    yield connect
    for writer in writers:
        writer.close()


def head(gateway: Any, path: str, *more: str, kind: str = "application/json") -> str:
    return "\r\n".join([HEAD.format(path, gateway.client.headers["Authorization"], kind).rstrip(), *more, "", ""])


async def trickle(wire: Wire, text: str, every: float = 0.1) -> None:
    for character in text:
        try:
            await wire.send(character)
        except ConnectionError:
            return
        await asyncio.sleep(every)


async def test_a_head_or_a_body_that_doesnt_come(gateway: Any, wires: Any) -> None:
    nothing, slow_head, slow_body, no_body = [await wires() for _ in range(4)]
    await slow_body.send(head(gateway, "runs", "Content-Length: 1000"))
    await no_body.send(head(gateway, "runs", "Content-Length: 1000"))
    trickles = [
        asyncio.create_task(trickle(slow_head, "GET /api/v1/runs HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaa")),
        asyncio.create_task(trickle(slow_body, '{"experiment_config": {}, "agents": []')),
    ]
    for _ in range(5):
        assert (await gateway.client.get("/api/v1/whoami")).status_code == 200
    assert [await wire.closed(3) for wire in (nothing, slow_head, slow_body, no_body)] == [True] * 4
    await asyncio.gather(*trickles)
    assert (await gateway.client.get("/api/v1/whoami")).status_code == 200


async def test_a_body_that_moves_may_take_longer_than_one_look(gateway: Any, wires: Any) -> None:
    wire = await wires()
    body = json.dumps({"experiment_config": {"benchmark": "x" * 60_000}}).encode()
    await wire.send(head(gateway, "runs", f"Content-Length: {len(body)}"))
    for start in range(0, len(body), 6000):
        await wire.send(body[start : start + 6000])
        await asyncio.sleep(0.15)
    status, problem = await wire.answer()
    assert (status, problem["code"]) == (400, "VALIDATION")


@pytest.mark.parametrize("path", ["runs", "benchmarks", "uploads"])
@pytest.mark.parametrize("declared", [True, False])
async def test_what_is_too_large_is_refused_before_it_has_come(
    path: str, declared: bool, gateway: Any, wires: Any
) -> None:
    """The limits are 4 MiB, 1 MiB, and here 1 MiB; ten times the largest is on its way."""
    wire, size = await wires(), 40 * 1024**2
    kind = "application/gzip" if path == "uploads" else "application/json"
    length = f"Content-Length: {size}" if declared else "Transfer-Encoding: chunked"
    await wire.send(head(gateway, path, length, kind=kind))
    piece = b"\x1f\x8b" * 32 * 1024

    async def pour() -> int:
        sent = 0
        try:
            while sent < size:
                await wire.send(piece if declared else b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
        except ConnectionError:
            pass
        return sent

    pouring = asyncio.create_task(pour())
    async with asyncio.timeout(10):
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (413, "TOO_LARGE")
    pouring.cancel()
    assert await wire.closed(5)


async def test_a_head_without_an_end(gateway: Any, wires: Any) -> None:
    for endless in ("GET /" + "a" * 100_000, "GET / HTTP/1.1\r\n" + "X-Filler: " + "a" * 100_000):
        wire = await wires()
        await wire.send(endless)
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (431, "TOO_LARGE")
        assert await wire.closed(3)


NOT_HTTP = [
    "GET /api/v1/runs HTTP/1.1\r\nHost: here\r\nX-Broken\r\n\r\n",
    "GET /api/v1/runs HTTP/1.1\r\nHost: here\r\nX: a\0b\r\n\r\n",
    "GET /api/v1/ru ns HTTP/1.1\r\nHost: here\r\n\r\n",
    "FETCH /api/v1/runs HTTP/1.1\r\nHost: here\r\n\r\n",
    "POST /api/v1/runs HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST /api/v1/runs HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "\x16\x03\x01\x02",
]


async def test_what_isnt_http(wires: Any) -> None:
    """Two lengths, or one beside chunks, are how a request is hidden in another."""
    for text in NOT_HTTP:
        wire = await wires()
        await wire.send(text)
        status, problem = await wire.answer()
        assert (status, problem["code"]) == (400, "VALIDATION"), text
        assert problem["error"].startswith("this isn't HTTP")


async def test_a_client_that_goes_away_is_no_incident(
    gateway: Any, wires: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for path, kind in (("runs", "application/json"), ("uploads", "application/gzip")):
        wire = await wires()
        await wire.send(head(gateway, path, "Content-Length: 1000", kind=kind))
        await wire.send(b"\x1f\x8b")
        await asyncio.sleep(0.1)
        wire.writer.transport.abort()
    for _ in range(3):
        assert (await gateway.client.get("/api/v1/whoami")).status_code == 200
    assert "incident" not in caplog.text
