"""An attempt's fold against the table of the design, written down again here."""

from collections import deque
from typing import Any

import pytest

from proctor.contracts.folds.attempt import NEW, AttemptState, cancel, evolve
from proctor.contracts.states import (
    ATTEMPT_TABLE,
    ATTEMPT_WATCH,
    ENDED_BY,
    HELD_BY_RUNNER,
    IN_SLOT,
    TERMINAL_ATTEMPT,
    AttemptStatus,
)

MOST_EPOCHS, MOST_ROUNDS = 2, 3


def reachable(histories: Any, steps: int) -> tuple[set[tuple[str, str]], set[AttemptStatus]]:
    """Every move from every place that can be reached: the fold must agree with the model at each."""
    start = (NEW, histories.Place(steps=steps))
    queue, seen = deque([start]), {start[1]}
    pairs: set[tuple[str, str]] = set()
    statuses = {NEW.status}
    sequence = 0
    while queue:
        state, place = queue.popleft()
        for event, after in histories.moves("0-0-1", place):
            sequence += 1
            moved = evolve(state, event, sequence)
            assert (moved.status, moved.epoch, moved.step, moved.round) == (
                after.status,
                after.epoch,
                after.step,
                after.round,
            ), (place, event.type)
            assert moved.since == sequence
            pairs.add((state.status, event.type))
            statuses.add(moved.status)
            if after not in seen and after.epoch <= MOST_EPOCHS and after.round <= MOST_ROUNDS:
                seen.add(after)
                queue.append((moved, after))
    return pairs, statuses


def test_every_row_of_the_table_is_reached_and_nothing_else_moves(histories: Any) -> None:
    one, _ = reachable(histories, 1)
    pairs, statuses = reachable(histories, 2)
    rows = set(ATTEMPT_TABLE) | {(state, kind) for kind, states in ENDED_BY.items() for state in states}
    assert pairs == rows
    assert one == {row for row in rows if "step" not in row[0] + row[1]}
    assert statuses | {AttemptStatus.CANCELLED} == set(AttemptStatus)


def test_every_state_that_can_last_has_an_owner_and_a_deadline() -> None:
    assert set(ATTEMPT_WATCH) == set(AttemptStatus) - TERMINAL_ATTEMPT
    assert all(watch.owner and watch.seconds > 0 and watch.then for watch in ATTEMPT_WATCH.values())


def test_a_slot_is_held_from_the_dispatch_to_the_outcome() -> None:
    outside = {"planned", "retry_wait", "passed", "failed", "errored", "cancelled"}
    assert {status for status in AttemptStatus if status not in outside} == IN_SLOT
    assert IN_SLOT >= HELD_BY_RUNNER


def drive(histories: Any, *kinds: str, steps: int = 1, **changes: Any) -> AttemptState:
    """The state after these events, each the first of its kind that the model offers."""
    state, place = NEW, histories.Place(steps=steps)
    for sequence, kind in enumerate(kinds, 1):
        event, place = next(move for move in histories.moves("0-0-1", place) if move[0].type == kind)
        if kind == kinds[-1]:
            event = event.model_copy(update=changes)
        state = evolve(state, event, sequence)
    return state


GRADING = (
    "attempt.dispatched",
    "attempt.claimed",
    "attempt.sandbox_ready",
    "attempt.agent_started",
    "attempt.agent_finished",
    "grade.dispatched",
    "grade.claimed",
)


@pytest.mark.parametrize(
    ("kinds", "changes", "expected"),
    [
        (GRADING[:2], {}, {"worker": "runner-1", "incarnation": "i1"}),
        (GRADING[:3], {}, {"sandbox": "s"}),
        (GRADING[:5], {"kind": "agent_timeout"}, {"agent_kind": "agent_timeout", "kind": None}),
        (GRADING, {}, {"grader": "grader-1", "grader_incarnation": "i1"}),
        ((*GRADING, "grade.lost"), {}, {"grader": None}),
        ((*GRADING, "attempt.graded"), {}, {"score": "1", "counts": True, "kind": None}),
        ((*GRADING, "attempt.grading_failed"), {}, {"kind": "reward_missing", "message": "m", "counts": False}),
        ((*GRADING[:2], "attempt.lease_lost"), {}, {"redispatches": 1, "worker": None}),
        ((*GRADING[:2], "attempt.lease_lost"), {"reason": "drained"}, {"redispatches": 0}),
        ((*GRADING[:2], "attempt.lease_lost"), {"reason": "restarted"}, {"redispatches": 1}),
        ((*GRADING[:2], "attempt.errored", "attempt.retry_scheduled"), {}, {"tries": 1, "delay": 1}),
        ((*GRADING[:2], "attempt.errored", "attempt.settled"), {}, {"score": None, "counts": False}),
        (
            (*GRADING[:2], "attempt.errored", "attempt.settled"),
            {"outcome": "failed", "counts": True, "kind": "agent_broke_sandbox"},
            {"score": "0", "counts": True, "kind": "agent_broke_sandbox", "status": "failed"},
        ),
    ],
)
def test_what_an_event_leaves_behind(
    histories: Any, kinds: tuple[str, ...], changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    state = drive(histories, *kinds, **changes)
    assert {name: getattr(state, name) for name in expected} == expected


def test_a_graded_agent_failure_counts_and_keeps_its_kind(histories: Any) -> None:
    finished = drive(histories, *GRADING[:5], kind="agent_timeout")
    place = histories.Place(status="grading", epoch=1, round=1)
    state = finished
    for sequence, kind in enumerate(("grade.dispatched", "grade.claimed"), 6):
        at = histories.Place(status=kind, epoch=1, round=0 if kind == "grade.dispatched" else 1)
        state = evolve(state, histories.of_attempt(kind, "0-0-1", 1, at), sequence)
    graded = histories.of_attempt("attempt.graded", "0-0-1", 1, place, passed=False, score="0")
    after = evolve(state, graded, 8)
    assert (after.status, after.kind, after.counts, after.score) == ("failed", "agent_timeout", True, "0")


def test_the_next_epoch_starts_clean(histories: Any) -> None:
    kinds = (*GRADING, "attempt.step_graded", "attempt.step_dispatched", "attempt.lease_lost", "attempt.dispatched")
    state = drive(histories, *kinds, steps=2)
    assert state == AttemptState(
        status=AttemptStatus.DISPATCHED,
        epoch=2,
        redispatches=1,
        since=len(kinds),
        grader_incarnation=state.grader_incarnation,
    )


def test_steps_keep_their_rewards_in_order(histories: Any) -> None:
    first = (*GRADING, "attempt.step_graded", "attempt.step_dispatched")
    second = ("attempt.agent_started", "attempt.agent_finished", "grade.dispatched", "grade.claimed")
    state = drive(histories, *first, *second, "attempt.step_graded", steps=3)
    assert state.step_rewards == ({"reward": "1"}, {"reward": "1"})
    assert (state.step, state.round) == (1, 2)


@pytest.mark.parametrize("kind", [*GRADING, "attempt.graded"])
def test_an_event_of_another_epoch_round_or_step_is_the_same_object_back(histories: Any, kind: str) -> None:
    kinds = (*GRADING, "attempt.graded")
    before = drive(histories, *kinds[: kinds.index(kind)])
    place = histories.Place(epoch=before.epoch, round=before.round, step=before.step, steps=2)
    epoch = before.epoch + (kind == "attempt.dispatched")
    event = histories.of_attempt(kind, "0-0-1", epoch, place)
    assert evolve(before, event, 99) is not before
    wrong = [{"epoch": epoch - 1}, {"epoch": epoch + 1}]
    wrong += [{name: getattr(event, name) + 1} for name in ("round", "step") if getattr(event, name, None) is not None]
    for change in wrong:
        assert evolve(before, event.model_copy(update=change), 99) is before, change


def test_cancelling_keeps_what_was_known(histories: Any) -> None:
    state = cancel(drive(histories, *GRADING[:3]), 9)
    assert (state.status, state.since, state.worker, state.counts) == ("cancelled", 9, "runner-1", False)
