"""What a run has ready to dispatch, and how the scheduler shares places among runs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contracts.folds import run as runs
from proctor.contracts.folds.run import RunState
from proctor.contracts.records import Recorded
from proctor.scheduler.allocate import share, turns
from proctor.scheduler.track import Track

type MakeStory = Callable[..., Any]


def test_the_matrix_is_dispatched_in_its_order(make_story: MakeStory) -> None:
    story, order = make_story(tasks=2, agents=2, number=2), []
    while (key := story.track.next_attempt(0)) is not None:
        assert story.track.next_attempt(0) == key, "asking takes nothing"
        order.append(key)
        story.until("dispatched", key)
    assert order == ["0-0-1", "1-0-1", "0-0-2", "1-0-2", "0-1-1", "1-1-1", "0-1-2", "1-1-2"]


def test_what_was_lost_goes_before_what_is_due_and_that_before_what_is_new(make_story: MakeStory) -> None:
    story = make_story(tasks=5, retries=3)
    for key in ("0-0-1", "0-1-1", "0-2-1"):
        story.until("claimed", key)
    for key, delay in (("0-0-1", 9), ("0-1-1", 5)):
        story.attempt("attempt.errored", key)
        story.attempt("attempt.retry_scheduled", key, 100.0, delay=delay)
    assert story.track.next_attempt(104.9) == "0-3-1", "nothing is due yet"
    assert story.track.next_attempt(106) == "0-1-1"
    assert story.track.next_attempt(200) == "0-1-1", "the one due first"
    story.attempt("attempt.lease_lost", "0-2-1")
    assert story.track.next_attempt(200) == "0-2-1"
    for expected in ("0-2-1", "0-1-1", "0-0-1", "0-3-1", "0-4-1"):
        assert story.track.next_attempt(200) == expected
        story.until("dispatched", expected)
    assert story.track.next_attempt(10**6) is None


def test_a_lost_attempt_that_was_settled_is_not_dispatched(make_story: MakeStory) -> None:
    story = make_story().until("claimed")
    story.attempt("attempt.lease_lost")
    story.attempt("attempt.settled")
    assert story.track.next_attempt(0) is None


@pytest.mark.parametrize("status", ["dispatched", "claimed", "agent_running", "awaiting_grade", "grading"])
def test_slots_are_held_until_the_outcome(make_story: MakeStory, status: str) -> None:
    story = make_story(tasks=3, slots=2)
    assert story.track.slots() == 2
    story.until(status)
    assert story.track.slots() == 1
    story.until("passed", "0-1-1")
    assert story.track.slots() == 1


def test_a_retry_gives_its_slot_back_while_it_waits(make_story: MakeStory) -> None:
    story = make_story(slots=1, retries=1).until("claimed")
    story.attempt("attempt.errored")
    assert story.track.slots() == 0
    story.attempt("attempt.retry_scheduled")
    assert story.track.slots() == 1


def test_a_run_that_is_stopping_or_over_has_no_slots(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=2)
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway")
    assert story.track.slots() == 0
    ended = make_story()
    ended.run("failed", kind="no_capacity", message="m")
    assert ended.track.slots() == 0
    assert make_story(unplanned=True).track.slots() == 0


def test_a_track_taken_up_after_a_restart_goes_on_where_it_was(make_story: MakeStory) -> None:
    story = make_story(tasks=4, retries=2)
    records: list[Recorded] = []
    for kind, key in (
        ("attempt.dispatched", "0-0-1"),
        ("attempt.claimed", "0-0-1"),
        ("attempt.lease_lost", "0-0-1"),
        ("attempt.dispatched", "0-1-1"),
        ("attempt.claimed", "0-1-1"),
        ("attempt.errored", "0-1-1"),
        ("attempt.retry_scheduled", "0-1-1"),
        ("attempt.dispatched", "0-2-1"),
    ):
        records.append(story.attempt(kind, key))
    opening = make_story(tasks=4, retries=2)
    again = Track(opening.state, opening.track.lock)
    for record in records:
        runs.apply(again.state, record)
    again.adopt(50.0)
    assert again.next_attempt(50) == "0-0-1"
    assert again.entered == {"0-2-1": 50.0}
    assert again.due == {"0-1-1": 55.0}
    assert again.changed == {"0-0-1", "0-1-1", "0-2-1"}, "all is looked at once more"
    assert again.served == story.track.served == records[-1].sequence


def serve(tracks: list[Any], rounds: int, free: int) -> Counter[str]:
    """Dispatch `rounds` times with `free` places, each attempt ending at once."""
    served: Counter[str] = Counter()
    sequence = 1_000
    for _ in range(rounds):
        for track in share([story.track for story in tracks], free, 0):
            story = next(one for one in tracks if one.track is track)
            key = track.next_attempt(0)
            story.sequence = sequence = sequence + 10
            story.until("passed", key)
            served[f"{track.state.workspace}/{track.state.run}"] += 1
    return served


@settings(max_examples=25, deadline=None)
@given(shape=st.lists(st.integers(1, 3), min_size=1, max_size=3), free=st.integers(1, 4))
def test_no_run_starves_however_few_places_there_are(make_story: MakeStory, shape: list[int], free: int) -> None:
    """`shape`: runs in each workspace. Workspaces get equal parts, and so do the runs in each."""
    stories = [
        make_story(tasks=100, workspace=f"w{place}", run=f"w{place}r{number}", start=10 * number)
        for place, count in enumerate(shape)
        for number in range(count)
    ]
    total = 12 * len(shape)
    served = serve(stories, -(-total // min(free, len(shape))), min(free, len(shape)))
    for place, count in enumerate(shape):
        runs_of = [served[f"w{place}/w{place}r{number}"] for number in range(count)]
        assert max(runs_of) - min(runs_of) <= 1
        assert abs(sum(runs_of) - sum(served.values()) / len(shape)) <= 1


def test_one_workspace_with_many_runs_takes_no_more_than_its_part(make_story: MakeStory) -> None:
    many = [make_story(tasks=40, workspace="big", run=f"b{number}") for number in range(5)]
    one = make_story(tasks=40, workspace="small", run="s")
    served = serve([*many, one], 20, 1)
    assert served["small/s"] == 10


def test_a_round_takes_one_of_each_workspace_before_the_second_of_any(make_story: MakeStory) -> None:
    tracks = [
        make_story(workspace=workspace, run=run, start=start).track
        for workspace, run, start in (("a", "a2", 30), ("a", "a1", 10), ("b", "b1", 50), ("b", "b2", 70))
    ]
    assert [track.state.run for track in turns(tracks)] == ["a1", "b1", "a2", "b2"]


@pytest.mark.parametrize("free", [0, -3])
def test_without_a_place_nobody_goes(make_story: MakeStory, free: int) -> None:
    assert share([make_story().track], free, 0) == []


def test_only_those_with_something_to_do_take_part(make_story: MakeStory) -> None:
    full = make_story(tasks=2, slots=1).until("claimed")
    done = make_story().until("passed")
    unplanned = make_story(unplanned=True)
    ahead = make_story()
    ahead.track.awaited = 10**6
    ready = make_story()
    assert share([one.track for one in (full, done, unplanned, ahead, ready)], 9, 0) == [ready.track]
    assert Track(RunState("w", "r")).settled_down
