"""Reading to the end, following live, and going on where one was, whatever becomes of the server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import pytest
from nats.aio.client import Client

from proctor.contracts.events import RunWaiting
from proctor.contracts.records import Recorded, UnknownEvent
from proctor.eventlog import EventLog
from proctor.eventlog.consumer import BATCH


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


def text(record: Recorded) -> str:
    assert isinstance(record.event, RunWaiting)
    return record.event.reason


async def fill(log: EventLog, workspace: str, texts: list[str], run: str = "r1") -> list[int]:
    limit = asyncio.Semaphore(64)

    async def one(reason: str) -> int:
        async with limit:
            return await log.append(RunWaiting(reason=reason), workspace=workspace, aggregate="run", id=run)

    return await asyncio.gather(*(one(reason) for reason in texts))


async def take(stream: AsyncGenerator[list[Recorded]], count: int) -> list[Recorded]:
    taken: list[Recorded] = []
    async with aclosing(stream):
        async for batch in stream:
            assert batch, "a batch is never empty"
            taken += batch
            if len(taken) >= count:
                return taken
    return taken


async def test_reading_ends_at_what_is_there(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    assert [record async for record in log.read(f"ev.{workspace}.>")] == []
    sequences = [(await fill(log, workspace, [one]))[0] for one in "abc"]
    assert [text(record) async for record in log.read(f"ev.{workspace}.>")] == ["a", "b", "c"]
    assert [text(record) async for record in log.read(f"ev.{workspace}.>", after=sequences[0])] == ["b", "c"]
    assert [text(record) async for record in log.read(f"ev.{workspace}.>", after=sequences[2])] == []


async def test_several_filters_keep_the_order_of_the_log(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    for place, run in enumerate(["r1", "r2", "r3", "r1", "r2"]):
        await fill(log, workspace, [str(place)], run)
    filters = [f"ev.{workspace}.run.{run}.>" for run in ("r2", "r1")]
    assert [text(record) async for record in log.read(*filters)] == ["0", "1", "3", "4"]


async def test_more_than_one_batch_comes_whole_and_in_order(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    count = 2 * BATCH + 17
    sequences = await fill(log, workspace, [str(number) for number in range(count)])
    read = [record async for record in log.read(f"ev.{workspace}.>")]
    assert [record.sequence for record in read] == sorted(sequences)
    followed = await asyncio.wait_for(take(log.follow(f"ev.{workspace}.>"), count), 30)
    assert followed == read


async def test_following_goes_on_live_from_any_position(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    first, _ = [(await fill(log, workspace, [one]))[0] for one in "ab"]
    following = asyncio.create_task(take(log.follow(f"ev.{workspace}.>", after=first), 3))
    await asyncio.sleep(0.2)
    assert not following.done()
    for one in "cd":
        await fill(log, workspace, [one])
    assert [text(record) for record in await asyncio.wait_for(following, 10)] == ["b", "c", "d"]


async def test_a_follower_outlives_the_server(own: Client, nats_server: Server, workspace: str) -> None:
    """kill -9 amid writes, twice: what was acknowledged comes once, in order."""
    log = EventLog(own, "scheduler")
    count = 300
    following = asyncio.create_task(take(log.follow(f"ev.{workspace}.>"), count))

    async def writing() -> None:
        for number in range(count):
            await log.append(RunWaiting(reason=str(number)), workspace=workspace, aggregate="run", id="r1")

    writer = asyncio.create_task(writing())
    for _ in range(2):
        await asyncio.sleep(0.15)
        nats_server.kill()
        await asyncio.sleep(0.1)
        nats_server.start()
    await asyncio.wait_for(writer, 30)
    followed = await asyncio.wait_for(following, 30)
    assert [text(record) for record in followed] == [str(number) for number in range(count)]


async def test_a_reader_outlives_the_server(own: Client, nats_server: Server, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    count = BATCH + 500
    await fill(log, workspace, [str(number) for number in range(count)])
    read: list[int] = []
    async for record in log.read(f"ev.{workspace}.>"):
        read.append(record.sequence)
        if len(read) == 10:
            nats_server.kill()
            nats_server.start()
    assert len(read) == len(set(read)) == count
    assert read == sorted(read)


async def test_a_newer_event_stops_the_reader_and_is_not_skipped(own: Client, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    await fill(log, workspace, ["a"])
    await own.jetstream().publish(
        f"ev.{workspace}.run.r1.scheduler.run.waiting",
        b'{"type":"run.waiting","reason":"b","since":1}',
        headers={"Proctor-Version": "2"},
        stream="EVENTS",
    )
    await fill(log, workspace, ["c"])
    for reading in (log.read(f"ev.{workspace}.>"), log.follow(f"ev.{workspace}.>")):
        with pytest.raises(UnknownEvent, match="upgrade"):
            async for _ in reading:
                pass


async def test_readers_leave_no_subscription_behind(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    await fill(log, workspace, ["a", "b"])
    before = len(bus._subs)  # pyright: ignore[reportPrivateUsage]
    for _ in range(3):
        async with aclosing(log.read(f"ev.{workspace}.>")) as reading:
            async for _record in reading:
                break
        await take(log.follow(f"ev.{workspace}.>"), 1)
    assert len(bus._subs) == before  # pyright: ignore[reportPrivateUsage]
