"""Pause, the stop of one agent, budgets: what may be dispatched, and how a run ends."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.events import Budget
from proctor.scheduler.budget import Used, reached, room
from proctor.scheduler.expire import expired
from proctor.scheduler.react import react

MakeStory = Callable[..., Any]


def types(story: Any, reached_now: Any = None, *keys: str) -> list[str]:
    return [event.type for event in react(story.state, story.track.lock, keys, reached_now)]


def test_nothing_is_dispatched_while_a_run_is_paused(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=3)
    assert story.track.slots() == 4
    story.say(make.event("run.paused", reason="maintenance", paused_by="owner"), "gateway")
    assert story.track.slots() == 0
    story.say(make.event("run.resumed", resumed_by="owner"), "gateway")
    assert story.track.slots() == 4


def test_a_pause_that_nobody_ends_stops_the_run_after_a_week(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=2).until("passed", "0-0-1")
    story.say(make.event("run.paused", reason="maintenance", paused_by="owner"), "gateway")
    week = 7 * 86_400
    assert expired(story.track, story.track.moved + week - 1) == []
    (cancelled,) = expired(story.track, story.track.moved + week + 1)
    story.say(cancelled, "scheduler")
    story.attempt("attempt.cleaned", "0-0-1")
    assert types(story) == ["run.stopped"]


def test_a_stopped_agents_retry_is_not_dispatched(make_story: MakeStory, make: Any) -> None:
    story = make_story(agents=2, retries=1).until("claimed", "0-0-1")
    story.attempt("attempt.errored", "0-0-1")
    story.attempt("attempt.retry_scheduled", "0-0-1")
    story.say(make.event("run.agent_stop_requested", agent=0, reason="too dear", requested_by="owner"), "gateway")
    assert types(story) == ["run.attempts_cancelled"]
    story.run("attempts_cancelled", reason="too dear", agent=0)
    assert types(story) == []
    assert story.track.next_attempt(1e9) == "1-0-1"


def test_a_run_whose_agents_were_all_stopped_is_stopped(make_story: MakeStory, make: Any) -> None:
    story = make_story(agents=2)
    for agent in (0, 1):
        story.say(make.event("run.agent_stop_requested", agent=agent, reason="r", requested_by="o"), "gateway")
        story.run("attempts_cancelled", reason="r", agent=agent)
    assert types(story) == ["run.stopped"]


def test_an_attempt_that_is_asked_for_again_is_due_at_once(make_story: MakeStory) -> None:
    story = make_story(tasks=2).until("claimed", "0-0-1")
    story.attempt("attempt.errored", "0-0-1")
    story.attempt("attempt.settled", "0-0-1")
    assert story.track.next_attempt(0.0) == "0-1-1"
    story.attempt("attempt.retry_requested", "0-0-1")
    assert story.track.next_attempt(1e9) == "0-0-1"


LIMITS = Budget(usd=10, attempts=5, month_usd=100, month_attempts=50)


@pytest.mark.parametrize(
    ("run", "month", "found", "left"),
    [
        (Used(4, 9.99), Used(49, 99.9), None, 1),
        (Used(0, 0), Used(47, 0), None, 3),
        (Used(5, 0), Used(5, 0), ("run", "attempts", 5, 5), 0),
        (Used(1, 10.5), Used(1, 10.5), ("run", "usd", 10, 10.5), 0),
        (Used(1, 1), Used(50, 1), ("month", "attempts", 50, 50), 0),
        (Used(1, 1), Used(2, 100), ("month", "usd", 100, 100), 0),
    ],
)
def test_the_first_limit_that_leaves_no_room(run: Used, month: Used, found: Any, left: float) -> None:
    event = reached(LIMITS, run, month)
    assert (event and (event.scope, event.unit, event.limit, event.used)) == found
    assert room(LIMITS, run, month) == left


@pytest.mark.parametrize("budget", [None, Budget()])
def test_without_limits_there_is_room_for_everything(budget: Budget | None) -> None:
    assert reached(budget, Used(10**6, 1e9), Used(10**6, 1e9)) is None
    assert room(budget, Used(10**6, 1e9), Used(10**6, 1e9)) == float("inf")


def test_a_used_up_budget_lets_what_is_under_way_end_and_stops_the_run(make_story: MakeStory) -> None:
    story = make_story(tasks=3, budget={"attempts": 2}).until("passed", "0-0-1").until("claimed", "0-1-1")
    assert story.track.slots() == 0
    event = reached(story.track.budget, Used(2, 0), Used())
    assert types(story, event) == [], "an attempt is under way"
    for kind in ("sandbox_ready", "agent_started", "agent_finished"):
        story.attempt(f"attempt.{kind}", "0-1-1")
    for kind in ("grade.dispatched", "grade.claimed", "attempt.graded"):
        story.attempt(kind, "0-1-1")
    assert types(story, event) == ["run.budget_reached"]
    story.say(event, "scheduler")
    assert types(story) == ["run.attempts_cancelled"]
    story.run("attempts_cancelled", reason="the budget is used up")
    for key in ("0-0-1", "0-1-1"):
        story.attempt("attempt.cleaned", key)
    assert types(story) == ["run.stopped"]
    assert [story.state.attempt(f"0-{task}-1").status for task in range(3)] == ["passed", "passed", "cancelled"]


@pytest.mark.parametrize("limit", [{"attempts": 2}, {"usd": 1.0}])
def test_what_a_lost_runner_had_is_dispatched_again_whatever_is_used_up(
    make_story: MakeStory, limit: dict[str, Any]
) -> None:
    story = make_story(tasks=3, budget=limit).until("claimed", "0-0-1").until("agent_running", "0-1-1")
    story.attempt("attempt.agent_finished", "0-1-1", 0.0, usage={"cost_usd": 1.5})
    story.attempt("attempt.lease_lost", "0-0-1")
    event = reached(story.track.budget, Used(2, 1.5), Used())
    assert types(story, event, "0-0-1") == []
    assert story.track.slots() == 1 if "usd" in limit else story.track.slots() >= 1
    assert story.track.next_attempt(0.0) == "0-0-1"


def test_under_a_limit_in_dollars_a_place_is_free_once_its_sandbox_is_gone(make_story: MakeStory) -> None:
    story = make_story(tasks=3, slots=1, budget={"usd": 1.0}).until("passed", "0-0-1")
    assert story.track.slots() == 0
    story.attempt("attempt.cleaned", "0-0-1")
    assert story.track.slots() == 1


def test_a_run_that_just_fits_its_budget_finishes(make_story: MakeStory) -> None:
    story = make_story(tasks=2, budget={"attempts": 2}).until("passed", "0-0-1").until("passed", "0-1-1")
    assert types(story, reached(story.track.budget, Used(2, 0), Used())) == ["run.finished"]
