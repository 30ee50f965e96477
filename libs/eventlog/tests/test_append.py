"""Appending: guards, lost acks, races."""

import asyncio
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest
from nats.aio.client import Client

from proctor.contracts.events import RunCleaned, RunWaiting
from proctor.contracts.records import Recorded
from proctor.eventlog import Conflict, EventLog, Unavailable, connect


class Server(Protocol):
    process: subprocess.Popen[bytes]

    def start(self) -> None: ...
    def kill(self) -> None: ...


async def write(log: EventLog, workspace: str, text: str, run: str = "r1", **options: Any) -> int:
    return await log.append(RunWaiting(reason=text), workspace=workspace, aggregate="run", id=run, **options)


async def reasons(log: EventLog, workspace: str, after: int = 0) -> list[str]:
    return [reason_of(record) async for record in log.read(f"ev.{workspace}.>", after=after)]


def reason_of(record: Recorded) -> str:
    assert isinstance(record.event, RunWaiting)
    return record.event.reason


async def test_what_is_appended_is_read_with_where_it_came_from(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    sequence = await write(log, workspace, "first", actor="user-1", cause=7)
    (record,) = [record async for record in log.read(f"ev.{workspace}.>")]
    assert (record.sequence, record.workspace, record.aggregate, record.id) == (sequence, workspace, "run", "r1")
    assert (record.writer, record.actor, record.event) == ("scheduler", "user-1", RunWaiting(reason="first"))
    now = datetime.now(UTC)
    assert record.occurred_at is not None
    assert now - timedelta(minutes=1) < record.occurred_at <= record.recorded_at + timedelta(seconds=1)
    assert now - timedelta(minutes=1) < record.recorded_at <= now


async def test_an_event_is_got_by_its_place(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    sequences = [await write(log, workspace, text) for text in ("a", "b")]
    read = [record async for record in log.read(f"ev.{workspace}.>")]
    assert [await log.get(sequence) for sequence in sequences] == read
    assert await log.get(sequences[-1] + 1) is None
    assert await log.last_sequence() == sequences[-1]


async def test_a_guard_takes_only_the_decision_that_saw_the_last_one(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    first = await write(log, workspace, "1", expected=0)
    second = await write(log, workspace, "2", expected=first)
    for stale in (0, first, second + 1):
        with pytest.raises(Conflict):
            await write(log, workspace, "late", expected=stale)
    await write(log, workspace, "3", expected=second)
    assert await reasons(log, workspace) == ["1", "2", "3"]


async def test_a_guard_sees_its_own_writer_alone(bus: Client, workspace: str) -> None:
    scheduler, runner = EventLog(bus, "scheduler"), EventLog(bus, "runner-1")
    first = await write(scheduler, workspace, "1", expected=0)
    await write(runner, workspace, "fact")
    await write(scheduler, workspace, "other run", run="r2", expected=0)
    await write(scheduler, workspace, "2", expected=first)
    assert await reasons(scheduler, workspace) == ["1", "fact", "other run", "2"]


async def test_the_first_event_of_an_aggregate_stands_alone(bus: Client, workspace: str) -> None:
    gateway, runner = EventLog(bus, "gateway"), EventLog(bus, "runner-1")
    await write(gateway, workspace, "submitted", alone=True)
    with pytest.raises(Conflict):
        await write(gateway, workspace, "again", alone=True)
    await write(runner, workspace, "fact", run="r2")
    with pytest.raises(Conflict):
        await write(gateway, workspace, "late", run="r2", alone=True)


@pytest.mark.parametrize("alone", [True, False])
async def test_a_lost_ack_is_found_again(bus: Client, workspace: str, alone: bool) -> None:
    log = EventLog(bus, "gateway")
    guard: dict[str, Any] = {"alone": True} if alone else {"expected": 0}
    first = await write(log, workspace, "once", message_id=f"{workspace}-1", **guard)
    await write(EventLog(bus, "runner-1"), workspace, "fact")
    assert await write(log, workspace, "once", message_id=f"{workspace}-1", **guard) == first
    assert await reasons(log, workspace) == ["once", "fact"]


async def test_a_lost_ack_is_found_when_the_server_no_longer_remembers_the_id(
    own: Client, nats_server: Server, workspace: str
) -> None:
    """Beyond the window of `Nats-Msg-Id` the guard says no, and the log itself says that it was ours."""
    config = (await own.jetstream().stream_info("EVENTS")).config
    await own.jetstream().update_stream(config.evolve(duplicate_window=0.1))
    log = EventLog(own, "gateway")
    first = await write(log, workspace, "once", message_id="m1", expected=0)
    await asyncio.sleep(0.3)
    assert await write(log, workspace, "once", message_id="m1", expected=0) == first
    with pytest.raises(Conflict):
        await write(log, workspace, "another", message_id="m2", expected=0)
    assert await reasons(log, workspace) == ["once"]


async def test_of_two_deciders_one_wins_each_place(nats_url: str, bus: Client, workspace: str) -> None:
    second = await connect(nats_url, "second")
    won: list[tuple[str, int]] = []

    async def decide(name: str, log: EventLog) -> None:
        expected = 0
        while len(won) < 40:
            try:
                expected = await write(log, workspace, name, expected=expected)
                won.append((name, expected))
            except Conflict:
                *_, last = [record async for record in log.read(f"ev.{workspace}.>", after=expected)]
                expected = last.sequence

    await asyncio.gather(decide("a", EventLog(bus, "scheduler")), decide("b", EventLog(second, "scheduler")))
    log = EventLog(bus, "scheduler")
    written = [(reason_of(record), record.sequence) async for record in log.read(f"ev.{workspace}.>")]
    assert sorted(written) == sorted(won)
    assert len({sequence for _, sequence in won}) == len(won)
    await second.close()


async def test_facts_need_no_guard(nats_url: str, bus: Client, workspace: str) -> None:
    logs = [EventLog(bus, f"runner-{number}") for number in range(4)]
    await asyncio.gather(*(write(log, workspace, f"{log.writer}-{n}") for log in logs for n in range(25)))
    assert sorted(await reasons(logs[0], workspace)) == sorted(f"{log.writer}-{n}" for log in logs for n in range(25))


@pytest.mark.parametrize("place", ["workspace", "aggregate", "id", "suffix"])
@pytest.mark.parametrize("text", ["a.b", ">", "*", "", "a b", "a\n"])
async def test_a_subject_cannot_be_widened(bus: Client, place: str, text: str) -> None:
    names: dict[str, Any] = {"workspace": "w", "aggregate": "run", "id": "r", "suffix": "default", place: text}
    with pytest.raises(ValueError, match="subject"):
        await EventLog(bus, "scheduler").append(RunCleaned(), **names)


def test_a_writer_is_a_token(bus: Client) -> None:
    with pytest.raises(ValueError, match="subject"):
        EventLog(bus, "runner.1")


async def test_an_event_that_is_too_large_is_refused(bus: Client, workspace: str) -> None:
    log = EventLog(bus, "scheduler")
    with pytest.raises(Unavailable, match="refused"):
        await write(log, workspace, "x" * (256 * 1024), patience=0.5)
    assert await reasons(log, workspace) == []


async def test_an_append_waits_for_a_server_that_comes_back(own: Client, nats_server: Server, workspace: str) -> None:
    log = EventLog(own, "gateway")
    nats_server.kill()
    waiting = asyncio.create_task(write(log, workspace, "patient", expected=0))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    nats_server.start()
    await asyncio.wait_for(waiting, 15)
    assert await reasons(log, workspace) == ["patient"]


async def test_a_frozen_server_takes_nothing_twice(
    own: Client, nats_server: Server, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append times out with its ack on the way, is sent again, and is there once."""
    log = EventLog(own, "gateway")
    monkeypatch.setattr("proctor.eventlog.log.ACK_SECONDS", 0.3)
    nats_server.process.send_signal(signal.SIGSTOP)
    waiting = asyncio.create_task(write(log, workspace, "once", message_id="m1", expected=0))
    await asyncio.sleep(1.2)
    nats_server.process.send_signal(signal.SIGCONT)
    await asyncio.wait_for(waiting, 15)
    assert await reasons(log, workspace) == ["once"]


async def test_an_append_gives_up_after_its_patience(own: Client, nats_server: Server, workspace: str) -> None:
    nats_server.kill()
    with pytest.raises(Unavailable, match="log"):
        await write(EventLog(own, "gateway"), workspace, "x", patience=0.3)
