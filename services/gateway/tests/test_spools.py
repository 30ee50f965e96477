"""Objects that are being read are fetched once, and kept within a limit."""

import asyncio
import random
from typing import Any

import pytest

from proctor.gateway.outputs.spools import InMemory, OnDisk, Spools
from proctor.objects import Objects
from proctor.service.errors import NotFound

LARGE = random.Random(3).randbytes(700_000)


async def test_an_object_is_fetched_once_and_read_in_parts(bus: Any, workspace: str) -> None:
    objects = Objects(bus)
    await objects.put(f"{workspace}/large", LARGE)
    await objects.put(f"{workspace}/small", b"small")
    await objects.put(f"{workspace}/empty", b"")
    spools = Spools(objects)
    first, second = await asyncio.gather(*(spools.get(f"{workspace}/large") for _ in range(2)))
    assert first is second is await spools.get(f"{workspace}/large")
    assert isinstance(first, OnDisk)
    assert (first.size, await first.read(650_000, 100_000)) == (700_000, LARGE[650_000:])
    small = await spools.get(f"{workspace}/small")
    assert isinstance(small, InMemory)
    assert (small.size, await small.read(1, 3)) == (5, b"mal")
    assert (await spools.get(f"{workspace}/empty")).size == 0


async def test_the_longest_unused_goes_first_but_not_from_its_readers(bus: Any, workspace: str) -> None:
    objects = Objects(bus)
    names = [f"{workspace}/{number}" for number in range(3)]
    for name in names:
        await objects.put(name, LARGE)
    spools = Spools(objects, limit=1_000_000)
    reading = await spools.get(names[0])
    for name in names[1:]:
        await spools.get(name)
    assert await spools.get(names[2]) is await spools.get(names[2])
    assert await reading.read(0, 10) == LARGE[:10]
    assert await spools.get(names[0]) is not reading


async def test_what_isnt_there_may_come_later(bus: Any, workspace: str) -> None:
    spools = Spools(Objects(bus))
    for _ in range(2):
        with pytest.raises(NotFound):
            await spools.get(workspace)
    await Objects(bus).put(workspace, b"late")
    assert (await spools.get(workspace)).size == 4
