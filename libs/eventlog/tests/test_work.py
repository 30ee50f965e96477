"""The dispatch event is the work item: WORK has each once, and a claim takes it away."""

import asyncio
from collections import Counter
from typing import Any, Protocol

from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts import subjects
from proctor.contracts.events import ANY_EVENT, AttemptDispatched, Event
from proctor.contracts.records import decode
from proctor.eventlog import EventLog, connect, ensure_streams
from proctor.eventlog.streams import open_runs

TASK = {"name": "org/task", "digest": "sha256:0", "package": "task/0"}
WORK: dict[str, Any] = {"run": "r1", "epoch": 1, "task": TASK, "timeout_multiplier": 1}


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


def dispatched(workspace: str, number: int) -> Event:
    agent = {"index": 0, "harness": "oracle"}
    work = {**WORK, "workspace": workspace, "run_name": "r", "attempt": f"0-{number}-1", "agent": agent, "lifetime": 1}
    body = {"attempt": f"0-{number}-1", "epoch": 1, "pool": "default", "work": work}
    return ANY_EVENT.validate_python({"type": "attempt.dispatched", **body})


def grade(workspace: str) -> Event:
    work = {
        **WORK,
        "workspace": workspace,
        "attempt": "0-0-1",
        "round": 1,
        "sandbox": "s",
        "runner": "r",
        "threshold": "1",
    }
    body = {"attempt": "0-0-1", "epoch": 1, "round": 1, "pool": "default", "work": work}
    return ANY_EVENT.validate_python({"type": "grade.dispatched", **body})


async def dispatch(log: EventLog, event: Event, workspace: str, pool: str = "default") -> int:
    return await log.append(event, workspace=workspace, aggregate="run", id="r1", suffix=pool, patience=30)


async def fetch(connection: Client, kind: str, most: int = 1_000, timeout: float = 0.5) -> list[Msg]:
    consumer = await connection.jetstream().pull_subscribe_bind(
        subjects.work_consumer(kind, "default"), subjects.WORK_STREAM
    )
    found: list[Msg] = []
    try:
        while len(found) < most:
            found += await consumer.fetch(most - len(found), timeout=timeout)
    except TimeoutError:
        pass
    finally:
        await consumer.unsubscribe()
    return found


async def test_a_dispatch_is_a_work_item_of_its_kind_and_pool(own: Client, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    await dispatch(log, dispatched(workspace, 0), workspace)
    await dispatch(log, grade(workspace), workspace)
    await dispatch(log, dispatched(workspace, 1), workspace, pool="gpu")
    await dispatch(EventLog(own, "runner-1"), dispatched(workspace, 2), workspace)
    (attempt,), (grading,) = await fetch(own, "attempt", 1, 5), await fetch(own, "grade", 1, 5)
    assert await fetch(own, "attempt") == await fetch(own, "grade") == []
    assert (attempt.subject, grading.subject) == ("work.attempt.default", "work.grade.default")
    assert decode(attempt.data, attempt.headers or {}) == dispatched(workspace, 0)
    assert decode(grading.data, grading.headers or {}) == grade(workspace)


async def test_an_acknowledged_item_is_gone_and_another_comes_again(own: Client, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    for number in range(2):
        await dispatch(log, dispatched(workspace, number), workspace)
    first, second = await fetch(own, "attempt", 2, 5)
    await first.ack_sync()
    await second.nak()
    (again,) = await fetch(own, "attempt", 1, 5)
    assert again.data == second.data
    await again.ack_sync()
    assert await fetch(own, "attempt") == []
    assert (await own.jetstream().stream_info(subjects.WORK_STREAM)).state.messages == 0
    assert (await own.jetstream().stream_info(subjects.EVENTS_STREAM)).state.messages == 2, "the log keeps them"


async def test_two_workers_of_a_pool_share_its_items(own: Client, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    for number in range(20):
        await dispatch(log, dispatched(workspace, number), workspace)
    both = await asyncio.gather(fetch(own, "attempt", 10, 5), fetch(own, "attempt", 10, 5))
    assert Counter(message.data for one in both for message in one).most_common(1)[0][1] == 1
    assert sum(map(len, both)) == 20


async def test_kill_9_loses_and_doubles_no_item(own: Client, nats_server: Server, workspace: str) -> None:
    log = EventLog(own, "scheduler")
    count = 150

    async def dispatching() -> None:
        for number in range(count):
            await dispatch(log, dispatched(workspace, number), workspace)

    writer = asyncio.create_task(dispatching())
    for _ in range(2):
        await asyncio.sleep(0.1)
        nats_server.kill()
        nats_server.start()
    await asyncio.wait_for(writer, 30)
    found: list[str] = []
    deadline = asyncio.get_running_loop().time() + 20
    while len(set(found)) < count and asyncio.get_running_loop().time() < deadline:
        for message in await fetch(own, "attempt", count, 1):
            event = decode(message.data, message.headers or {})
            assert isinstance(event, AttemptDispatched)
            found.append(event.attempt)
            await message.ack_sync()
    assert Counter(found) == Counter(f"0-{number}-1" for number in range(count))


async def test_streams_can_be_ensured_again_and_at_once(own: Client, workspace: str) -> None:
    await dispatch(EventLog(own, "scheduler"), dispatched(workspace, 0), workspace)
    await asyncio.gather(*(ensure_streams(own) for _ in range(3)))
    assert len(await fetch(own, "attempt", 1, 5)) == 1
    assert await fetch(own, "attempt") == []


async def test_streams_made_by_several_at_first_are_made_once(nats_server: Server) -> None:
    connections = [await connect(nats_server.url, f"c{number}") for number in range(3)]
    await asyncio.gather(*(ensure_streams(one) for one in connections))
    await dispatch(EventLog(connections[0], "scheduler"), dispatched("w", 0), "w")
    assert len(await fetch(connections[0], "attempt", 1, 5)) == 1
    for one in connections:
        await one.close()


async def test_open_runs_are_those_that_are_not_cleaned(own: Client) -> None:
    assert await open_runs(own) == []
    gateway, scheduler = EventLog(own, "gateway"), EventLog(own, "scheduler")
    config: dict[str, Any] = {"experiment": {"benchmark": "b"}, "agents": [{}]}
    names = ("name", "benchmark", "benchmark_key", "benchmark_name", "version", "manifest", "submitted_by")
    for workspace, run in (("w1", "r1"), ("w1", "r2"), ("w2", "r1")):
        body: dict[str, Any] = {
            "type": "run.submitted",
            "run": run,
            "config": config,
            "pass_threshold": "1",
            **dict.fromkeys(names, "x"),
        }
        await gateway.append(ANY_EVENT.validate_python(body), workspace=workspace, aggregate="run", id=run)
    await scheduler.append(ANY_EVENT.validate_python({"type": "run.cleaned"}), workspace="w1", aggregate="run", id="r1")
    assert sorted(await open_runs(own)) == [("w1", "r2"), ("w2", "r1")]
