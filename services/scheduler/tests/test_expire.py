"""Deadlines: every one of the design's table, just before and just after."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.messages import Beat, Held
from proctor.scheduler.expire import expired, orphaned, unheld

type MakeStory = Callable[..., Any]

PHASES = 600 + 360 + 100
"""Build, set-up and agent limits of the story's task."""


def kinds(events: list[Any]) -> list[tuple[str, str | None]]:
    return [(one.type, getattr(one, "kind", None) or getattr(one, "reason", None)) for one in events]


@pytest.mark.parametrize(
    ("status", "seconds", "expected"),
    [
        ("dispatched", 86_400, ("run.failed", "no_capacity")),
        ("claimed", 300 + PHASES, ("attempt.lease_lost", "overdue")),
        ("sandbox_ready", 300 + PHASES, ("attempt.lease_lost", "overdue")),
        ("agent_running", 300 + PHASES, ("attempt.lease_lost", "overdue")),
        ("awaiting_grade", 86_400, ("attempt.settled", "grader_unavailable")),
        ("grade_dispatched", 86_400, ("attempt.settled", "grader_unavailable")),
        ("grading", 600 + 50, ("grade.lost", "overdue")),
    ],
)
def test_an_attempt_that_does_not_move(
    make_story: MakeStory, status: str, seconds: float, expected: tuple[str, str]
) -> None:
    story = make_story().until(status, now=1_000.0)
    assert expired(story.track, 1_000 + seconds) == []
    assert kinds(expired(story.track, 1_001 + seconds)) == [expected]


def test_a_run_without_a_plan_fails_after_ten_minutes(make_story: MakeStory) -> None:
    story = make_story(unplanned=True)
    assert expired(story.track, 600) == []
    assert kinds(expired(story.track, 601)) == [("run.failed", "planning_timeout")]


def test_a_run_that_nobody_takes_fails_after_a_day(make_story: MakeStory) -> None:
    story = make_story()
    assert expired(story.track, 86_400) == []
    assert kinds(expired(story.track, 86_401)) == [("run.failed", "no_capacity")]


def test_results_stay_and_the_rest_fails_when_capacity_goes_for_a_day(make_story: MakeStory) -> None:
    story = make_story(tasks=2).until("passed", now=100.0)
    assert expired(story.track, 86_500) == []
    assert kinds(expired(story.track, 86_501)) == [("run.failed", "no_capacity")]


def test_a_run_with_work_under_way_has_capacity(make_story: MakeStory) -> None:
    story = make_story(tasks=2).until("claimed").until("dispatched", "0-1-1")
    assert "run.failed" not in [kind for kind, _ in kinds(expired(story.track, 90_000))]


def test_multiplied_limits_are_waited_for(make_story: MakeStory) -> None:
    story = make_story(steps=2).until("agent_running")
    assert expired(story.track, 300 + 2 * PHASES) == []
    assert kinds(expired(story.track, 301 + 2 * PHASES)) == [("attempt.lease_lost", "overdue")]


def test_a_stop_gives_up_on_silent_hosts_after_a_minute(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=3)
    for key, worker in (("0-0-1", "runner-1"), ("0-1-1", "runner-2"), ("0-2-1", "runner-1")):
        story.until("claimed", key, worker=worker)
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway", 100.0)
    story.run("attempts_cancelled", 100.0, reason="enough")
    assert expired(story.track, 159) == []
    found = [event.model_dump() for event in expired(story.track, 160)]
    assert found == [
        {"type": "sandbox.abandoned", "worker": "runner-1", "count": 2},
        {"type": "sandbox.abandoned", "worker": "runner-2", "count": 1},
    ]
    story.attempt("attempt.cleaned", "0-0-1", 160.0)
    assert expired(story.track, 200) == [], "something still moves"


def test_what_a_vanished_worker_held_is_lost(make_story: MakeStory) -> None:
    story = make_story(tasks=4)
    story.until("claimed", "0-0-1", worker="gone").until("awaiting_grade", "0-1-1", worker="gone")
    story.until("claimed", "0-2-1", worker="alive").until("grading", "0-3-1", worker="alive")
    found = orphaned(story.track, {"alive"})
    assert [(one.type, one.attempt, one.worker, one.reason) for one in found] == [  # pyright: ignore[reportAttributeAccessIssue]
        ("attempt.lease_lost", "0-0-1", "gone", "silent"),
        ("attempt.lease_lost", "0-1-1", "gone", "silent"),
        ("grade.lost", "0-3-1", "grader-1", "silent"),
    ]
    assert orphaned(story.track, {"alive", "gone", "grader-1"}) == []


def test_both_the_runner_and_the_grader_may_vanish_at_once(make_story: MakeStory) -> None:
    story = make_story().until("grading")
    for event in orphaned(story.track, set[str]()):
        story.say(event)
    assert story.state.attempt("0-0-1").status in {"planned", "awaiting_grade"}


def beat(
    worker: str = "runner-1", incarnation: str = "i1", held: tuple[Held, ...] = (), *, draining: bool = False
) -> Beat:
    kind = "grader" if worker.startswith("grader") else "runner"
    return Beat(
        worker=worker,
        incarnation=incarnation,
        kind=kind,
        host="h",
        capacity=4,
        free=4,
        held=held,
        draining=draining,
        version="0",
    )


HELD = Held(workspace="w", run="r", attempt="0-0-1", epoch=1)


@pytest.mark.parametrize(
    ("status", "said", "now", "expected"),
    [
        ("claimed", beat(), 15, []),
        ("claimed", beat(), 16, [("attempt.lease_lost", "restarted")]),
        ("claimed", beat(held=(HELD,)), 1_000, []),
        ("claimed", beat(incarnation="i2"), 0, [("attempt.lease_lost", "restarted")]),
        ("claimed", beat(incarnation="i2", held=(HELD,)), 0, []),
        ("claimed", beat(draining=True), 0, [("attempt.lease_lost", "drained")]),
        ("claimed", beat(draining=True, held=(HELD,)), 0, []),
        ("claimed", beat(held=(HELD.model_copy(update={"epoch": 2}),)), 16, [("attempt.lease_lost", "restarted")]),
        ("claimed", beat("runner-2", "i9"), 1_000, []),
        ("awaiting_grade", beat(incarnation="i2"), 0, [("attempt.lease_lost", "restarted")]),
        ("awaiting_grade", beat(incarnation="i2", held=(HELD,)), 0, []),
        ("grading", beat("grader-1", "g1"), 16, [("grade.lost", "restarted")]),
        ("grading", beat("grader-1", "g1", (HELD,)), 1_000, []),
        ("grading", beat("grader-1", "g2"), 0, [("grade.lost", "restarted")]),
        ("grading", beat("grader-1", "g1", draining=True), 0, [("grade.lost", "drained")]),
        ("grading", beat("grader-2", "g1"), 1_000, []),
        ("dispatched", beat(incarnation="i2"), 1_000, []),
        ("passed", beat(incarnation="i2"), 1_000, []),
    ],
)
def test_what_a_living_worker_no_longer_holds(
    make_story: MakeStory, status: str, said: Beat, now: float, expected: list[tuple[str, str]]
) -> None:
    story = make_story().until(status)
    assert kinds(unheld(story.track, said, now)) == expected
