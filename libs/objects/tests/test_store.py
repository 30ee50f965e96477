"""Bytes by name: what goes in comes out, whatever its size, also when the bus was away."""

import asyncio
import hashlib
import io
import random
from typing import Any, Protocol

import pytest
from nats.aio.client import Client

from proctor.objects import ObjectMissing, Objects, artifact_name, digest_name


class Server(Protocol):
    def start(self) -> None: ...
    def kill(self) -> None: ...


LARGE = random.Random(1).randbytes(5 * 1024 * 1024 + 7)


@pytest.mark.parametrize("data", [b"", b"x", b"\x00" * 1_000, LARGE], ids=["empty", "one", "zeros", "5 MB"])
async def test_what_is_put_is_got(bus: Client, workspace: str, data: bytes) -> None:
    objects = Objects(bus)
    name = f"{workspace}/some thing.tar"
    assert not await objects.exists(name)
    assert await objects.put(name, data) == name
    assert await objects.exists(name)
    assert await objects.get(name) == data
    file = io.BytesIO(b"left over" * 1_000)
    await objects.get_into(name, file)
    assert file.read() == data


async def test_a_small_object_needs_no_consumer(bus: Client, workspace: str) -> None:
    objects = Objects(bus)
    for size, there in ((1, True), (131_072, True), (131_073, False), (0, False)):
        await objects.put(workspace, LARGE[:size])
        assert await objects.get_small(workspace) == (LARGE[:size] if there else None)
    await objects.delete(workspace)
    assert await objects.get_small(workspace) is None
    assert await objects.get_small(f"{workspace}/none") is None


async def test_a_file_is_put_without_holding_it_in_memory(bus: Client, workspace: str) -> None:
    objects = Objects(bus)
    file = io.BytesIO(LARGE)
    file.seek(100)
    await objects.put_file(workspace, file)
    assert await objects.get(workspace) == LARGE


async def test_a_name_is_replaced(bus: Client, workspace: str) -> None:
    objects = Objects(bus)
    await objects.put(workspace, b"first")
    await objects.put(workspace, b"second")
    assert await objects.get(workspace) == b"second"


async def test_what_is_not_there_is_missing(bus: Client, workspace: str) -> None:
    objects = Objects(bus)
    with pytest.raises(ObjectMissing, match=workspace):
        await objects.get(workspace)
    with pytest.raises(ObjectMissing, match=workspace):
        await objects.get_into(workspace, io.BytesIO())
    await objects.put(workspace, b"x")
    await objects.delete(workspace)
    await objects.delete(workspace)
    assert not await objects.exists(workspace)
    with pytest.raises(ObjectMissing):
        await objects.get(workspace)


async def test_equal_content_is_stored_once(own: Client) -> None:
    objects = Objects(own)
    data = LARGE[:300_000]
    names = {await objects.put_once("task", data) for _ in range(3)}
    assert names == {f"task/{hashlib.sha256(data).hexdigest()}"} == {digest_name("task", data)}
    status = await (await own.jetstream().object_store("proctor")).status()
    assert status.size < 2 * len(data)
    assert await objects.put_once("task", b"other") not in names


async def test_the_same_put_at_once_by_several_is_whole(bus: Client, workspace: str) -> None:
    data = LARGE[:500_000] + workspace.encode()
    names = await asyncio.gather(*(Objects(bus).put_once("task", data) for _ in range(4)))
    assert len(set(names)) == 1
    assert await Objects(bus).get(names[0]) == data


def test_an_artifact_is_named_by_run_attempt_and_epoch() -> None:
    assert artifact_name("r1", "0-2-1", 3, "agent") == "artifact/r1/0-2-1.3.agent.tar"


@pytest.mark.parametrize("operation", ["put", "put_once", "get", "exists", "delete", "put_file", "get_into"])
async def test_a_bus_that_comes_back_is_waited_for(own: Client, nats_server: Server, operation: str) -> None:
    objects = Objects(own)
    await objects.put("there", b"x")
    nats_server.kill()
    await asyncio.sleep(0.1)
    arguments: dict[str, tuple[Any, ...]] = {
        "put": ("there", b"y"),
        "put_once": ("task", b"y"),
        "put_file": ("there", io.BytesIO(b"y")),
        "get_into": ("there", io.BytesIO()),
    }
    working = asyncio.create_task(getattr(objects, operation)(*arguments.get(operation, ("there",))))
    await asyncio.sleep(0.4)
    nats_server.start()
    await asyncio.wait_for(working, 25)


async def test_patience_has_an_end(own: Client, nats_server: Server) -> None:
    objects = Objects(own, patience=0.3)
    await objects.put("there", b"x")
    nats_server.kill()
    with pytest.raises(Exception, match="nats"):
        await asyncio.wait_for(objects.get("there"), 20)
