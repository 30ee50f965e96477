"""An engine without an election, and workers that claim, ask and report as real ones do."""

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any, Protocol, Self

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic_core import to_json

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched, GradeDispatched
from proctor.contracts.messages import Beat, BeatAnswer, Held, LeaseAnswer, LeaseOrder, LeaseRequest
from proctor.contracts.records import Recorded, decode
from proctor.eventlog import EventLog
from proctor.objects import Objects
from proctor.scheduler import orders
from proctor.scheduler.engine import Engine

SECONDS = {"startup": 0, "transfer": 0, "run": 1, "parse": 0}


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


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was lost is waited for long; the streams are made that way."""
    monkeypatch.setattr("proctor.eventlog.log.ACK_SECONDS", 0.5)
    monkeypatch.setattr("proctor.eventlog.consumer.HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr("proctor.eventlog.streams.CLAIM_SECONDS", 2)


@pytest.fixture
def own(impatient: None, own_bus: Client) -> Client:
    """A bus of the test's own."""
    return own_bus


async def submit(
    connection: Client,
    make: Any,
    run: str = "r1",
    tasks: int = 3,
    changes: dict[str, Any] | None = None,
    **execution: Any,
) -> None:
    """`changes` are those of the event."""
    manifest = make.manifest(*({"name": f"t{number}"} for number in range(tasks)))
    name = await Objects(connection).put_once("manifest", to_json(manifest.model_dump(mode="json")))
    submitted = make.submitted(run, execution=execution).model_copy(update={"manifest": name, **(changes or {})})
    await EventLog(connection, "gateway").append(submitted, workspace="w", aggregate="run", id=run, alone=True)


async def records(connection: Client, run: str = "r1") -> list[Recorded]:
    return [record async for record in EventLog(connection, "test").read(subjects.run_events("w", run))]


async def until(connection: Client, kind: str, run: str = "r1", seconds: float = 25) -> Recorded:
    """The run's first event of that type."""
    async with asyncio.timeout(seconds):
        async for batch in EventLog(connection, "test").follow(subjects.run_events("w", run)):
            for record in batch:
                if record.event.type == kind:
                    return record
    raise AssertionError


async def ended(connection: Client, run: str = "r1") -> list[Recorded]:
    await until(connection, "run.cleaned", run)
    return await records(connection, run)


@pytest.fixture(scope="session")
def stage() -> Any:
    """What a test of the engine is played with."""
    return SimpleNamespace(
        Active=Active, Worker=Worker, held_of=held_of, submit=submit, records=records, until=until, ended=ended
    )
