"""The engine on a real bus with stage that claim, ask and report as real ones do."""

import asyncio
from collections import Counter
from typing import Any, Protocol

import pytest
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched
from proctor.contracts.folds import run as runs
from proctor.contracts.folds.run import RunState
from proctor.contracts.messages import Beat
from proctor.contracts.records import Recorded
from proctor.eventlog import EventLog, connect
from proctor.objects import Objects
from proctor.scheduler.app import serve
from proctor.scheduler.plan import make_lock, planned
from proctor.service.settings import Settings


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


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


async def test_a_run_goes_from_submit_to_cleaned_within_its_slots(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=6, attempts_per_task=2, max_concurrent_attempts=3)
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        history = await stage.ended(own)
    found = checked(history, 3)
    assert found["attempt.dispatched"] == found["attempt.graded"] == 12
    assert found["run.planned"] == found["run.finished"] == 1
    assert history[-1].event.type == "run.cleaned"


async def test_two_runs_share_the_places_of_a_pool(own: Client, stage: Any, make: Any) -> None:
    for run in ("r1", "r2"):
        await stage.submit(own, make, run, tasks=6)
    async with stage.Active(own), stage.Worker(own, "runner-1", make, capacity=1, pause=0.02):
        first, second = await stage.ended(own, "r1"), await stage.ended(own, "r2")
    dispatches = sorted(
        (record.sequence, record.id) for record in [*first, *second] if isinstance(record.event, AttemptDispatched)
    )
    order = [run for _, run in dispatches]
    assert Counter(order) == {"r1": 6, "r2": 6}
    assert order in (["r1", "r2"] * 6, ["r2", "r1"] * 6), "one place goes to each in turn"


async def test_of_two_claims_one_is_leased(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=1)
    async with stage.Active(own) as active:
        first, second = stage.Worker(own, "runner-1", make), stage.Worker(own, "runner-2", make)
        active.engine.heard(
            Beat(worker="runner-1", incarnation="i", kind="runner", host="h", capacity=1, free=1, version="0")
        )
        record = await stage.until(own, "attempt.dispatched")
        assert isinstance(record.event, AttemptDispatched)
        claims: list[int] = []
        for worker in (first, second):
            claim = {"worker": worker.name, "incarnation": "i", "host": "h"}
            claims.append(await worker.say(record.event, "attempt.claimed", **claim))
        pairs = zip((second, first), claims[::-1], strict=True)
        asked = (worker.lease(record.event, claim) for worker, claim in pairs)
        assert await asyncio.gather(*asked) == [False, True]


async def test_two_engines_at_once_dispatch_nothing_twice(
    own: Client, stage: Any, nats_server: Server, make: Any
) -> None:
    other = await connect(nats_server.url, "second")
    await stage.submit(own, make, tasks=8, attempts_per_task=2, max_concurrent_attempts=4)
    async with stage.Active(own), stage.Active(other), stage.Worker(own, "runner-1", make):
        history = await stage.ended(own)
    found = checked(history, 4)
    assert found["attempt.dispatched"] == found["grade.dispatched"] == found["attempt.graded"] == 16
    assert found["run.planned"] == found["run.finished"] == found["run.cleaned"] == 1
    await other.close()


async def test_an_engine_that_dies_again_and_again_loses_nothing(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=10, attempts_per_task=2, max_concurrent_attempts=4)
    async with stage.Worker(own, "runner-1", make, pause=0.01):
        finished = asyncio.create_task(stage.ended(own))
        for _ in range(5):
            async with stage.Active(own):
                await asyncio.sleep(0.25)
        async with stage.Active(own):
            history = await asyncio.wait_for(finished, 30)
    found = checked(history, 4)
    assert found["attempt.graded"] == 20
    assert found["run.finished"] == 1


async def test_the_bus_may_die_in_the_middle(own: Client, stage: Any, nats_server: Server, make: Any) -> None:
    await stage.submit(own, make, tasks=16, max_concurrent_attempts=4)
    async with stage.Active(own), stage.Worker(own, "runner-1", make, pause=0.1):
        finished = asyncio.create_task(stage.ended(own))
        await stage.until(own, "attempt.graded")
        nats_server.kill()
        nats_server.start()
        assert not finished.done()
        history = await asyncio.wait_for(finished, 40)
    assert checked(history, 4)["run.finished"] == 1


async def test_a_stop_ends_a_run_and_leaves_nothing(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=20, max_concurrent_attempts=4)
    async with stage.Active(own), stage.Worker(own, "runner-1", make, pause=60):
        await stage.until(own, "attempt.claimed")
        stop = make.event("run.stop_requested", reason="enough", requested_by="owner")
        await EventLog(own, "gateway").append(stop, workspace="w", aggregate="run", id="r1")
        history = await stage.ended(own)
    kinds = [record.event.type for record in history]
    assert "attempt.dispatched" not in kinds[kinds.index("run.attempts_cancelled") :]
    assert kinds[-2:] == ["run.stopped", "run.cleaned"]


async def test_a_run_without_a_runner_says_why_it_waits(
    own: Client, stage: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.scheduler.engine.WAITING_SECONDS", 0.0)
    await stage.submit(own, make, tasks=1)
    async with stage.Active(own):
        record = await stage.until(own, "run.waiting")
        assert record.event.model_dump() == {"type": "run.waiting", "reason": "no runner in pool default"}
        async with stage.Worker(own, "runner-1", make):
            history = await stage.ended(own)
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
    own: Client, stage: Any, make: Any, manifest: bytes | None, said: str
) -> None:
    name = "no-such-manifest" if manifest is None else await Objects(own).put("manifest/bad", manifest)
    bad = make.submitted("bad").model_copy(update={"manifest": name})
    await EventLog(own, "gateway").append(bad, workspace="w", aggregate="run", id="bad", alone=True)
    await stage.submit(own, make, tasks=1)
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        failed = await stage.ended(own, "bad")
        await stage.ended(own)
    failure = next(record.event.model_dump() for record in failed if record.event.type == "run.failed")
    assert failure["kind"] == "planning_failed"
    assert said in failure["message"]


async def test_a_run_that_cannot_be_decided_on_fails_alone(own: Client, stage: Any, make: Any) -> None:
    """Its plan asks for more tasks than its lock holds, as no scheduler writes it."""
    bad = make.submitted("bad")
    lock = make_lock(bad, make.manifest({"name": "a"}))
    name = await Objects(own).put("lock/short", lock.model_dump_json().encode())
    gateway, scheduler = EventLog(own, "gateway"), EventLog(own, "scheduler")
    await gateway.append(bad, workspace="w", aggregate="run", id="bad", alone=True)
    plan = planned(lock, name).model_copy(update={"tasks": 2})
    await scheduler.append(plan, workspace="w", aggregate="run", id="bad", expected=0)
    await stage.submit(own, make, tasks=1)
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        failed = await stage.ended(own, "bad")
        await stage.ended(own)
    failure = next(record.event.model_dump() for record in failed if record.event.type == "run.failed")
    assert failure["kind"] == "scheduler_error"


async def test_what_a_silent_runner_had_is_dispatched_again(
    own: Client, stage: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.scheduler.fleet.SILENCE_SECONDS", 2.0)
    await stage.submit(own, make, tasks=2)
    async with stage.Active(own):
        async with stage.Worker(own, "runner-1", make, pause=60):
            await stage.until(own, "attempt.claimed")
            await asyncio.sleep(0.2)
        async with stage.Worker(own, "runner-2", make):
            lost = await stage.until(own, "attempt.lease_lost")
            assert lost.event.model_dump(include={"worker", "reason"}) == {"worker": "runner-1", "reason": "silent"}
            await stage.until(own, "run.finished")
    graded = [one.event.model_dump() for one in await stage.records(own) if one.event.type == "attempt.graded"]
    assert {(one["attempt"], one["epoch"]) for one in graded} == {("0-0-1", 2), ("0-1-1", 2)}


async def test_the_service_leads_alone_and_hands_over(own: Client, stage: Any, nats_server: Server, make: Any) -> None:
    settings = Settings(nats_url=nats_server.url)
    stops = [asyncio.Event(), asyncio.Event()]
    services = [asyncio.create_task(serve(settings, stop)) for stop in stops]
    async with stage.Worker(own, "runner-1", make):
        await stage.submit(own, make, "r1", tasks=2)
        checked(await stage.ended(own, "r1"), 4)
        leader = await (await own.jetstream().key_value(subjects.LEADER_BUCKET)).get("scheduler")
        stops[0].set()
        await asyncio.wait_for(services[0], 10)
        await stage.submit(own, make, "r2", tasks=2)
        checked(await stage.ended(own, "r2"), 4)
    assert leader.value
    stops[1].set()
    await asyncio.wait_for(services[1], 10)
