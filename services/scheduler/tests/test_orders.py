"""What workers are told, and who gets a lease."""

from collections.abc import Callable
from typing import Any, Literal

import pytest

from proctor.contracts.messages import Beat, Held, LeaseOrder, LeaseRequest, StepOrder, SweepRequest
from proctor.scheduler.orders import answer, following, lease, swept

type MakeStory = Callable[..., Any]

HELD = Held(workspace="w", run="r", attempt="0-0-1", epoch=1)


def beat(worker: str, *held: Held) -> Beat:
    kind: Literal["runner", "grader"] = "grader" if worker.startswith("grader") else "runner"
    return Beat(worker=worker, incarnation="i", kind=kind, host="h", capacity=4, free=4, held=held, version="0")


def request(worker: str = "runner-1", /, **changes: Any) -> LeaseRequest:
    kind = "grade" if worker.startswith("grader") else "attempt"
    incarnation = "g1" if kind == "grade" else "i1"
    usual = {"held": HELD, "kind": kind, "worker": worker, "incarnation": incarnation, "sequence": 0}
    return LeaseRequest.model_validate({**usual, **changes})


def test_the_first_claim_of_the_epoch_gets_the_lease(make_story: MakeStory) -> None:
    story = make_story().until("dispatched")
    first = story.attempt("attempt.claimed").sequence
    second = story.attempt("attempt.claimed", worker="runner-2").sequence
    again = story.attempt("attempt.claimed").sequence
    granted = [
        lease(request("runner-1", sequence=first), story.state).granted,
        lease(request("runner-2", sequence=second), story.state).granted,
        lease(request("runner-2", sequence=first), story.state).granted,
        lease(request("runner-1", sequence=again), story.state).granted,
        lease(request("runner-1", sequence=first, incarnation="i2"), story.state).granted,
        lease(request("runner-1", sequence=first, held=HELD.model_copy(update={"epoch": 2})), story.state).granted,
        lease(
            request("runner-1", sequence=first, held=HELD.model_copy(update={"attempt": "0-0-2"})), story.state
        ).granted,
        lease(request("grader-1", sequence=first, worker="runner-1", incarnation="i1"), story.state).granted,
    ]
    assert granted == [True, False, False, False, False, False, False, False]
    assert lease(request("runner-1", sequence=first), story.state).granted, "asking again is the same answer"


def test_a_grade_is_leased_by_its_round(make_story: MakeStory) -> None:
    story = make_story().until("grade_dispatched")
    claim = story.attempt("grade.claimed").sequence
    assert lease(request("grader-1", round=1, sequence=claim), story.state).granted
    assert not lease(request("grader-1", round=2, sequence=claim), story.state).granted
    assert not lease(request("grader-2", round=1, sequence=claim), story.state).granted
    story.attempt("grade.lost")
    assert not lease(request("grader-1", round=1, sequence=claim), story.state).granted


def test_a_run_that_stops_or_is_over_leases_nothing(make_story: MakeStory, make: Any) -> None:
    story = make_story().until("dispatched")
    claim = story.attempt("attempt.claimed").sequence
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway")
    assert lease(request(sequence=claim), story.state).reason == "the run is over or stopping"
    ended = make_story().until("dispatched")
    ended.run("failed", kind="no_capacity", message="m")
    assert not lease(request(sequence=ended.attempt("attempt.claimed").sequence), ended.state).granted
    assert not lease(request(sequence=claim), None).granted


@pytest.mark.parametrize(
    ("status", "worker", "epoch", "over"),
    [
        ("claimed", "runner-1", 1, False),
        ("claimed", "runner-2", 1, True),
        ("claimed", "runner-1", 2, False),
        ("dispatched", "runner-1", 1, False),
        ("agent_running", "runner-1", 1, False),
        ("awaiting_grade", "runner-1", 1, False),
        ("grade_dispatched", "runner-1", 1, False),
        ("grading", "runner-1", 1, False),
        ("passed", "runner-1", 1, True),
        ("grading", "grader-1", 1, False),
        ("grading", "grader-2", 1, True),
        ("grade_dispatched", "grader-1", 1, False),
        ("awaiting_grade", "grader-1", 1, True),
        ("passed", "grader-1", 1, True),
    ],
)
def test_a_beat_is_told_what_is_over(make_story: MakeStory, status: str, worker: str, epoch: int, over: bool) -> None:
    story = make_story().until(status)
    held = HELD.model_copy(update={"epoch": epoch})
    assert answer(beat(worker, held), {"r": story.state}).over == ((held,) if over else ())


@pytest.mark.parametrize("kind", ["attempt.errored", "attempt.lease_lost"])
def test_an_epoch_that_ended_is_over_before_and_after_the_next(make_story: MakeStory, kind: str) -> None:
    story = make_story(retries=1).until("claimed")
    story.attempt(kind)
    assert answer(beat("runner-1", HELD), {"r": story.state}).over == (HELD,)
    if kind == "attempt.errored":
        story.attempt("attempt.retry_scheduled")
    story.until("claimed")
    assert answer(beat("runner-1", HELD), {"r": story.state}).over == (HELD,)


def test_a_run_that_is_closed_holds_nothing(make_story: MakeStory) -> None:
    assert answer(beat("runner-1", HELD), {}).over == (HELD,)


def test_a_step_that_may_begin_is_told_again_with_each_beat(make_story: MakeStory) -> None:
    story = make_story(steps=2).until("grading")
    assert answer(beat("runner-1", HELD), {"r": story.state}).steps == ()
    story.attempt("attempt.step_graded")
    story.attempt("attempt.step_dispatched")
    assert answer(beat("runner-1", HELD), {"r": story.state}).steps == (StepOrder(held=HELD, step=1),)
    story.attempt("attempt.agent_started")
    assert answer(beat("runner-1", HELD), {"r": story.state}).steps == ()


def told(story: Any, act: Callable[[], Any]) -> list[tuple[str, LeaseOrder]]:
    before = {key: story.state.attempt(key) for key in story.track.entered}
    return list(following(story.state, before, act()))


OVER = LeaseOrder(held=HELD)


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        ("claimed", "attempt.lease_lost", [("runner-1", OVER)]),
        ("agent_running", "attempt.errored", [("runner-1", OVER)]),
        ("grading", "attempt.graded", [("runner-1", OVER)]),
        ("grading", "attempt.grading_failed", [("runner-1", OVER)]),
        ("grading", "attempt.lease_lost", [("runner-1", OVER), ("grader-1", OVER)]),
        ("grading", "grade.lost", [("grader-1", OVER)]),
        ("awaiting_grade", "attempt.settled", [("runner-1", OVER)]),
        ("agent_running", "attempt.agent_finished", []),
        ("awaiting_grade", "grade.dispatched", []),
        ("dispatched", "attempt.claimed", []),
    ],
)
def test_who_is_told_at_once(
    make_story: MakeStory, status: str, kind: str, expected: list[tuple[str, LeaseOrder]]
) -> None:
    story = make_story().until(status)
    assert told(story, lambda: story.attempt(kind)) == expected


def test_everyone_with_a_cancelled_attempt_is_told(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=4).until("claimed").until("grading", "0-1-1").until("dispatched", "0-2-1")
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway")
    orders = told(story, lambda: story.run("attempts_cancelled", reason="enough"))
    assert sorted((worker, order.held.attempt) for worker, order in orders) == [
        ("grader-1", "0-1-1"),
        ("runner-1", "0-0-1"),
        ("runner-1", "0-1-1"),
    ]


def test_a_runner_is_told_of_its_next_step(make_story: MakeStory) -> None:
    story = make_story(steps=2).until("grading")
    story.attempt("attempt.step_graded")
    assert told(story, lambda: story.attempt("attempt.step_dispatched")) == [
        ("runner-1", LeaseOrder(held=HELD, step=1))
    ]


@pytest.mark.parametrize(
    ("status", "epoch", "over"),
    [("agent_running", 1, False), ("awaiting_grade", 1, False), ("agent_running", 0, True), ("passed", 1, True)],
)
def test_a_sweep_removes_what_no_attempt_needs(make_story: MakeStory, status: str, epoch: int, over: bool) -> None:
    story = make_story().until(status)
    held = HELD.model_copy(update={"epoch": epoch})
    assert swept(SweepRequest(found=(held,)), {"r": story.state}).over == ((held,) if over else ())
    assert swept(SweepRequest(found=(held,)), {}).over == (held,)
