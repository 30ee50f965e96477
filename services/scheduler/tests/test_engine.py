"""The engine on a real bus with workers that claim, ask and report as real ones do."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, Self

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic_core import to_json

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched, Event, GradeDispatched
from proctor.contracts.folds import run as runs
from proctor.contracts.folds.run import RunState
from proctor.contracts.messages import Beat, BeatAnswer, Held, LeaseAnswer, LeaseOrder, LeaseRequest
from proctor.contracts.records import Recorded, decode
from proctor.eventlog import EventLog, connect, ensure_streams
from proctor.objects import Objects
from proctor.scheduler import orders
from proctor.scheduler.app import serve
from proctor.scheduler.engine import Engine
from proctor.scheduler.plan import make_lock, planned
from proctor.service.settings import Settings

SECONDS = {"startup": 0, "transfer": 0, "run": 1, "parse": 0}


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


@pytest.fixture
async def own(nats_server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A bus of the test's own on which nothing that was lost is waited for long."""
    monkeypatch.setattr("proctor.eventlog.log.ACK_SECONDS", 0.5)
    monkeypatch.setattr("proctor.eventlog.consumer.HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr("proctor.eventlog.streams.CLAIM_SECONDS", 2)
    connection = await connect(nats_server.url, "test")
    await ensure_streams(connection)
    yield connection
    await connection.close()


class Active:
    """A scheduler without an election that can be stopped without a farewell."""

    def __init__(self, connection: Client) -> None:
        self.connection = connection
        self.engine = Engine(EventLog(connection, "scheduler"), Objects(connection), self._send)
        self.jobs: list[asyncio.Task[None]] = []
        self.subscriptions: list[Any] = []

    async def _send(self, worker: str, order: LeaseOrder) -> None:
        await self.connection.publish(subjects.lease_order(worker), order.model_dump_json().encode())

    async def __aenter__(self) -> Self:
        await self.engine.load()
        for subject, respond in (("beat.*", self._beat), ("lease.start.*", self._lease)):
            self.subscriptions.append(await self.connection.subscribe(subject, cb=respond))
        self.jobs = [asyncio.create_task(self.engine.follow()), asyncio.create_task(self.engine.decide())]
        return self

    async def _beat(self, message: Msg) -> None:
        beat = Beat.model_validate_json(message.data)
        self.engine.heard(beat)
        states = {run: track.state for run, track in self.engine.tracks.items()}
        await message.respond(orders.answer(beat, states).model_dump_json().encode())

    async def _lease(self, message: Msg) -> None:
        request = LeaseRequest.model_validate_json(message.data)
        await self.engine.passed(request.sequence, 5)
        track = self.engine.tracks.get(request.held.run)
        await message.respond(orders.lease(request, track.state if track else None).model_dump_json().encode())

    async def __aexit__(self, *_: object) -> None:
        for subscription in self.subscriptions:
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()
        for job in self.jobs:
            job.cancel()
        for result in await asyncio.gather(*self.jobs, return_exceptions=True):
            assert isinstance(result, asyncio.CancelledError), result


class Worker:
    """Runner and grader in one: takes what there is, reports at once, cleans up when it is told that it is over."""

    def __init__(self, connection: Client, name: str, make: Any, *, capacity: int = 8, pause: float = 0.0) -> None:
        self.connection, self.name, self.make, self.capacity, self.pause = connection, name, make, capacity, pause
        self.log = EventLog(connection, name)
        self.held: set[Held] = set()
        self.granted: set[tuple[str, Held, int]] = set()
        self.jobs: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.connection.subscribe(subjects.lease_order(self.name), cb=self._ordered)
        for job in (self._beats(), self._take("attempt"), self._take("grade")):
            self._start(job)
        return self

    async def __aexit__(self, *_: object) -> None:
        for job in self.jobs:
            job.cancel()
        await asyncio.gather(*self.jobs, return_exceptions=True)

    def _start(self, job: Any) -> None:
        task = asyncio.create_task(job)
        self.jobs.add(task)
        task.add_done_callback(self.jobs.discard)

    async def _beats(self) -> None:
        while True:
            beat = Beat(
                worker=self.name,
                incarnation="i",
                kind="runner",
                host="h",
                capacity=self.capacity,
                free=self.capacity,
                held=tuple(self.held),
                version="0",
            )
            with contextlib.suppress(nats.errors.Error, TimeoutError):
                payload = beat.model_dump_json().encode()
                reply = await self.connection.request(subjects.beat(self.name), payload, timeout=1)
                for held in BeatAnswer.model_validate_json(reply.data).over:
                    await self._over(held)
            await asyncio.sleep(0.1)

    async def _take(self, kind: str) -> None:
        durable = subjects.work_consumer(kind, "default")
        consumer = await self.connection.jetstream().pull_subscribe_bind(durable, subjects.WORK_STREAM)
        while True:
            try:
                (message,) = await consumer.fetch(1, timeout=0.5)
            except (nats.errors.Error, TimeoutError):
                continue
            self._start(self._work(message))

    async def _work(self, message: Msg) -> None:
        event = decode(message.data, message.headers or {})
        assert isinstance(event, AttemptDispatched | GradeDispatched)
        claim = {"worker": self.name, "incarnation": "i"}
        if isinstance(event, GradeDispatched):
            sequence = await self.say(event, "grade.claimed", round=event.round, **claim)
        else:
            self.held.add(held_of(event))
            sequence = await self.say(event, "attempt.claimed", host="h", **claim)
        await message.ack()
        if await self.lease(event, sequence):
            await self._report(event)

    async def lease(self, event: AttemptDispatched | GradeDispatched, sequence: int) -> bool:
        """Whether it is ours and we don't work on it already."""
        number = event.round if isinstance(event, GradeDispatched) else 0
        kind, held = ("grade" if number else "attempt"), held_of(event)
        request = LeaseRequest.model_validate(
            {"held": held, "kind": kind, "round": number, "worker": self.name, "incarnation": "i", "sequence": sequence}
        )
        while True:
            try:
                payload = request.model_dump_json().encode()
                reply = await self.connection.request(subjects.lease_start(self.name), payload, timeout=1)
            except (nats.errors.Error, TimeoutError):
                await asyncio.sleep(0.1)
            else:
                break
        known = (kind, held, number) in self.granted
        granted = LeaseAnswer.model_validate_json(reply.data).granted
        if granted:
            self.granted.add((kind, held, number))
        return granted and not known

    async def _report(self, event: AttemptDispatched | GradeDispatched) -> None:
        await asyncio.sleep(self.pause)
        if isinstance(event, GradeDispatched):
            verdict = {"rewards": {"reward": "1"}, "score": "1", "threshold": "0.5", "passed": True, "mode": "shared"}
            await self.say(event, "attempt.graded", round=event.round, seconds=SECONDS, **verdict)
            return
        await self.say(event, "attempt.sandbox_ready", sandbox="s", backend="docker", image="i", seconds=1)
        await self.say(event, "attempt.agent_started")
        await self.say(event, "attempt.agent_finished", seconds=1)

    async def _ordered(self, message: Msg) -> None:
        await self._over(LeaseOrder.model_validate_json(message.data).held)

    async def _over(self, held: Held) -> None:
        if held in self.held:
            self.held.remove(held)
            cleaned = self.make.event("attempt.cleaned", attempt=held.attempt, epoch=held.epoch, sandbox="s")
            await self.log.append(cleaned, workspace=held.workspace, aggregate="run", id=held.run)

    async def say(self, event: AttemptDispatched | GradeDispatched, kind: str, **content: Any) -> int:
        made = self.make.event(kind, attempt=event.attempt, epoch=event.epoch, **content)
        identity = f"{event.work.run}.{event.attempt}.{event.epoch}.{content.get('round')}.{kind}.{self.name}"
        work = event.work
        return await self.log.append(made, workspace=work.workspace, aggregate="run", id=work.run, message_id=identity)


def held_of(event: AttemptDispatched | GradeDispatched) -> Held:
    work = event.work
    return Held(workspace=work.workspace, run=work.run, attempt=event.attempt, epoch=event.epoch)


async def submit(connection: Client, make: Any, run: str = "r1", tasks: int = 3, **execution: Any) -> None:
    manifest = make.manifest(*({"name": f"t{number}"} for number in range(tasks)))
    name = await Objects(connection).put_once("manifest", to_json(manifest.model_dump(mode="json")))
    submitted = make.submitted(run, execution=execution).model_copy(update={"manifest": name})
    await EventLog(connection, "gateway").append(submitted, workspace="w", aggregate="run", id=run, alone=True)


async def records(connection: Client, run: str = "r1") -> list[Recorded]:
    return [record async for record in EventLog(connection, "test").read(subjects.run_events("w", run))]


async def until(
    connection: Client, condition: Callable[[Event], bool], run: str = "r1", seconds: float = 25
) -> Recorded:
    async with asyncio.timeout(seconds):
        async for batch in EventLog(connection, "test").follow(subjects.run_events("w", run)):
            for record in batch:
                if condition(record.event):
                    return record
    raise AssertionError


async def ended(connection: Client, run: str = "r1") -> list[Recorded]:
    await until(connection, lambda event: event.type == "run.cleaned", run)
    return await records(connection, run)


def checked(history: list[Recorded], slots: int) -> Counter[str]:
    """The invariants of any run's log; how often each type of event is in it."""
    state, most = RunState("w", history[0].id), 0
    for record in history:
        runs.apply(state, record)
        most = max(most, state.in_slots)
    assert most <= slots, "never more under way than the run allows"
    dispatched = Counter(
        (one.event.attempt, one.event.epoch) for one in history if isinstance(one.event, AttemptDispatched)
    )
    assert set(dispatched.values()) <= {1}, "no epoch is dispatched twice"
    assert state.cleaned
    assert not state.sandboxes
    return Counter(record.event.type for record in history)


async def test_a_run_goes_from_submit_to_cleaned_within_its_slots(own: Client, make: Any) -> None:
    await submit(own, make, tasks=6, attempts_per_task=2, max_concurrent_attempts=3)
    async with Active(own), Worker(own, "runner-1", make):
        history = await ended(own)
    found = checked(history, 3)
    assert found["attempt.dispatched"] == found["attempt.graded"] == 12
    assert found["run.planned"] == found["run.finished"] == 1
    assert history[-1].event.type == "run.cleaned"


async def test_two_runs_share_the_places_of_a_pool(own: Client, make: Any) -> None:
    for run in ("r1", "r2"):
        await submit(own, make, run, tasks=6)
    async with Active(own), Worker(own, "runner-1", make, capacity=1, pause=0.02):
        first, second = await ended(own, "r1"), await ended(own, "r2")
    dispatches = sorted(
        (record.sequence, record.id) for record in [*first, *second] if isinstance(record.event, AttemptDispatched)
    )
    order = [run for _, run in dispatches]
    assert Counter(order) == {"r1": 6, "r2": 6}
    assert order in (["r1", "r2"] * 6, ["r2", "r1"] * 6), "one place goes to each in turn"


async def test_of_two_claims_one_is_leased(own: Client, make: Any) -> None:
    await submit(own, make, tasks=1)
    async with Active(own) as active:
        first, second = Worker(own, "runner-1", make), Worker(own, "runner-2", make)
        active.engine.heard(
            Beat(worker="runner-1", incarnation="i", kind="runner", host="h", capacity=1, free=1, version="0")
        )
        record = await until(own, lambda event: isinstance(event, AttemptDispatched))
        assert isinstance(record.event, AttemptDispatched)
        claims: list[int] = []
        for worker in (first, second):
            claim = {"worker": worker.name, "incarnation": "i", "host": "h"}
            claims.append(await worker.say(record.event, "attempt.claimed", **claim))
        pairs = zip((second, first), claims[::-1], strict=True)
        asked = (worker.lease(record.event, claim) for worker, claim in pairs)
        assert await asyncio.gather(*asked) == [False, True]


async def test_two_engines_at_once_dispatch_nothing_twice(own: Client, nats_server: Server, make: Any) -> None:
    other = await connect(nats_server.url, "second")
    await submit(own, make, tasks=8, attempts_per_task=2, max_concurrent_attempts=4)
    async with Active(own), Active(other), Worker(own, "runner-1", make):
        history = await ended(own)
    found = checked(history, 4)
    assert found["attempt.dispatched"] == found["grade.dispatched"] == found["attempt.graded"] == 16
    assert found["run.planned"] == found["run.finished"] == found["run.cleaned"] == 1
    await other.close()


async def test_an_engine_that_dies_again_and_again_loses_nothing(own: Client, make: Any) -> None:
    await submit(own, make, tasks=10, attempts_per_task=2, max_concurrent_attempts=4)
    async with Worker(own, "runner-1", make, pause=0.01):
        finished = asyncio.create_task(ended(own))
        for _ in range(5):
            async with Active(own):
                await asyncio.sleep(0.25)
        async with Active(own):
            history = await asyncio.wait_for(finished, 30)
    found = checked(history, 4)
    assert found["attempt.graded"] == 20
    assert found["run.finished"] == 1


async def test_the_bus_may_die_in_the_middle(own: Client, nats_server: Server, make: Any) -> None:
    await submit(own, make, tasks=16, max_concurrent_attempts=4)
    async with Active(own), Worker(own, "runner-1", make, pause=0.1):
        finished = asyncio.create_task(ended(own))
        await until(own, lambda event: event.type == "attempt.graded")
        nats_server.kill()
        nats_server.start()
        assert not finished.done()
        history = await asyncio.wait_for(finished, 40)
    assert checked(history, 4)["run.finished"] == 1


async def test_a_stop_ends_a_run_and_leaves_nothing(own: Client, make: Any) -> None:
    await submit(own, make, tasks=20, max_concurrent_attempts=4)
    async with Active(own), Worker(own, "runner-1", make, pause=60):
        await until(own, lambda event: event.type == "attempt.claimed")
        stop = make.event("run.stop_requested", reason="enough", requested_by="owner")
        await EventLog(own, "gateway").append(stop, workspace="w", aggregate="run", id="r1")
        history = await ended(own)
    kinds = [record.event.type for record in history]
    assert "attempt.dispatched" not in kinds[kinds.index("run.attempts_cancelled") :]
    assert kinds[-2:] == ["run.stopped", "run.cleaned"]


async def test_a_run_without_a_runner_says_why_it_waits(
    own: Client, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.scheduler.engine.WAITING_SECONDS", 0.0)
    await submit(own, make, tasks=1)
    async with Active(own):
        record = await until(own, lambda event: event.type == "run.waiting")
        assert record.event.model_dump() == {"type": "run.waiting", "reason": "no runner in pool default"}
        async with Worker(own, "runner-1", make):
            history = await ended(own)
    assert checked(history, 4)["run.waiting"] == 1


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (None, "task list of version v1 is no longer stored: sync the benchmark again"),
        (b"not json", "task list of version v1 can't be read"),
        (b'{"version":"v1","tasks":[]}', "no task that can run"),
    ],
)
async def test_a_run_that_cannot_be_planned_fails_and_harms_no_other(
    own: Client, make: Any, manifest: bytes | None, said: str
) -> None:
    name = "no-such-manifest" if manifest is None else await Objects(own).put("manifest/bad", manifest)
    bad = make.submitted("bad").model_copy(update={"manifest": name})
    await EventLog(own, "gateway").append(bad, workspace="w", aggregate="run", id="bad", alone=True)
    await submit(own, make, tasks=1)
    async with Active(own), Worker(own, "runner-1", make):
        failed = await ended(own, "bad")
        await ended(own)
    failure = next(record.event.model_dump() for record in failed if record.event.type == "run.failed")
    assert failure["kind"] == "planning_failed"
    assert said in failure["message"]


async def test_a_run_that_cannot_be_decided_on_fails_alone(own: Client, make: Any) -> None:
    """Its plan asks for more tasks than its lock holds, as no scheduler writes it."""
    bad = make.submitted("bad")
    lock = make_lock(bad, make.manifest({"name": "a"}))
    name = await Objects(own).put("lock/short", lock.model_dump_json().encode())
    gateway, scheduler = EventLog(own, "gateway"), EventLog(own, "scheduler")
    await gateway.append(bad, workspace="w", aggregate="run", id="bad", alone=True)
    plan = planned(lock, name).model_copy(update={"tasks": 2})
    await scheduler.append(plan, workspace="w", aggregate="run", id="bad", expected=0)
    await submit(own, make, tasks=1)
    async with Active(own), Worker(own, "runner-1", make):
        failed = await ended(own, "bad")
        await ended(own)
    failure = next(record.event.model_dump() for record in failed if record.event.type == "run.failed")
    assert failure["kind"] == "scheduler_error"


async def test_what_a_silent_runner_had_is_dispatched_again(
    own: Client, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.scheduler.fleet.SILENCE_SECONDS", 2.0)
    await submit(own, make, tasks=2)
    async with Active(own):
        async with Worker(own, "runner-1", make, pause=60):
            await until(own, lambda event: event.type == "attempt.claimed")
            await asyncio.sleep(0.2)
        async with Worker(own, "runner-2", make):
            lost = await until(own, lambda event: event.type == "attempt.lease_lost")
            assert lost.event.model_dump(include={"worker", "reason"}) == {"worker": "runner-1", "reason": "silent"}
            await until(own, lambda event: event.type == "run.finished")
    graded = [one.event.model_dump() for one in await records(own) if one.event.type == "attempt.graded"]
    assert {(one["attempt"], one["epoch"]) for one in graded} == {("0-0-1", 2), ("0-1-1", 2)}


async def test_the_service_leads_alone_and_hands_over(own: Client, nats_server: Server, make: Any) -> None:
    settings = Settings(nats_url=nats_server.url)
    stops = [asyncio.Event(), asyncio.Event()]
    services = [asyncio.create_task(serve(settings, stop)) for stop in stops]
    async with Worker(own, "runner-1", make):
        await submit(own, make, "r1", tasks=2)
        checked(await ended(own, "r1"), 4)
        leader = await (await own.jetstream().key_value(subjects.LEADER_BUCKET)).get("scheduler")
        stops[0].set()
        await asyncio.wait_for(services[0], 10)
        await submit(own, make, "r2", tasks=2)
        checked(await ended(own, "r2"), 4)
    assert leader.value
    stops[1].set()
    await asyncio.wait_for(services[1], 10)
