"""Runs that are held back, cut short, or start with what another run had."""

from collections import Counter
from typing import Any

from nats.aio.client import Client

from proctor.contracts.events import Budget, Event
from proctor.eventlog import EventLog

AGAIN = {"rerun_of": "r1", "reuse": True, "settings": ("same",)}


def types(history: list[Any]) -> Counter[str]:
    return Counter(record.event.type for record in history)


async def say(own: Client, event: Event, run: str = "r1") -> None:
    await EventLog(own, "gateway").append(event, workspace="w", aggregate="run", id=run)


async def test_a_rerun_takes_over_what_counts_before_it_dispatches_the_rest(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=3, changes={"settings": ("same",)})
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        await stage.ended(own)
        await stage.submit(own, make, "r2", tasks=5, changes=AGAIN)
        history = await stage.ended(own, "r2")
    order = [record.event.type for record in history]
    assert order[:3] == ["run.submitted", "run.planned", "run.results_reused"]
    assert history[2].event.outcomes == ("ppp..",)
    assert types(history)["attempt.dispatched"] == 2
    finished = next(record.event for record in history if record.event.type == "run.finished")
    assert (finished.passed, finished.failed) == (5, 0)


async def test_a_rerun_of_which_nothing_is_left_to_run_finishes_without_a_runner(
    own: Client, stage: Any, make: Any
) -> None:
    await stage.submit(own, make, tasks=3, changes={"settings": ("same",)})
    async with stage.Active(own):
        async with stage.Worker(own, "runner-1", make):
            await stage.ended(own)
        await stage.submit(own, make, "r2", tasks=3, changes=AGAIN)
        found = types(await stage.ended(own, "r2"))
    assert (found["attempt.dispatched"], found["run.finished"]) == (0, 1)


async def test_an_engine_that_died_before_the_take_over_makes_up_for_it(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=3, changes={"settings": ("same",)})
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        await stage.ended(own)
    await stage.submit(own, make, "r2", tasks=4, changes=AGAIN)
    for kind in ("run.planned", "run.results_reused"):
        async with stage.Active(own):
            await stage.until(own, kind, "r2")
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        found = types(await stage.ended(own, "r2"))
    assert (found["run.results_reused"], found["attempt.dispatched"]) == (1, 1)


async def test_a_source_that_is_not_there_leaves_everything_to_run(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=2, changes={**AGAIN, "rerun_of": "nowhere"})
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        assert types(await stage.ended(own))["attempt.dispatched"] == 2


async def test_a_months_budget_counts_runs_that_ended_before_the_engine_began(
    own: Client, stage: Any, make: Any
) -> None:
    limited = {"budget": Budget(month_attempts=5)}
    await stage.submit(own, make, tasks=3)
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        await stage.ended(own)
    await stage.submit(own, make, "r2", tasks=4, changes=limited, max_concurrent_attempts=1)
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        second = await stage.ended(own, "r2")
        await stage.submit(own, make, "r3", tasks=1, changes=limited)
        third = await stage.ended(own, "r3")
    assert types(second)["attempt.dispatched"] == 2
    assert types(second)["run.stopped"] == 1
    reached = next(record.event for record in second if record.event.type == "run.budget_reached")
    assert (reached.scope, reached.unit, reached.limit, reached.used) == ("month", "attempts", 5, 5)
    assert types(third)["attempt.dispatched"] == 0


async def test_a_pause_holds_what_is_not_dispatched_yet(own: Client, stage: Any, make: Any) -> None:
    await stage.submit(own, make, tasks=3, max_concurrent_attempts=1)
    await say(own, make.event("run.paused", reason="maintenance", paused_by="owner"))
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        await stage.until(own, "run.planned")
        # another run gets through meanwhile, so the engine had its chance
        await stage.submit(own, make, "r2", tasks=2)
        await stage.ended(own, "r2")
        assert types(await stage.records(own))["attempt.dispatched"] == 0
        await say(own, make.event("run.resumed", resumed_by="owner"))
        assert types(await stage.ended(own))["attempt.graded"] == 3


async def test_one_agent_stops_and_the_run_finishes_with_the_other(own: Client, stage: Any, make: Any) -> None:
    both = {"config": make.submitted(agents=[{"harness": "oracle"}, {"harness": "nop"}]).config}
    await stage.submit(own, make, tasks=2, changes=both)
    await say(own, make.event("run.agent_stop_requested", agent=1, reason="too dear", requested_by="o"))
    async with stage.Active(own), stage.Worker(own, "runner-1", make):
        history = await stage.ended(own)
    finished = next(record.event for record in history if record.event.type == "run.finished")
    assert (finished.passed, finished.cancelled) == (2, 2)
