"""A run's fold under everything a real log does: repeats, stragglers, stops."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.contracts.events import AttemptDispatched, Event, RetryRequested
from proctor.contracts.folds.run import RunState, agent_status, apply
from proctor.contracts.records import Recorded
from proctor.contracts.states import RUN_TABLE, RUN_WATCH, TERMINAL_ATTEMPT, TERMINAL_RUN, RunStatus

STALE = (
    "attempt.dispatched",
    "attempt.claimed",
    "attempt.sandbox_ready",
    "attempt.agent_started",
    "attempt.agent_finished",
    "attempt.errored",
    "attempt.retry_scheduled",
    "attempt.settled",
    "attempt.lease_lost",
    "grade.dispatched",
    "grade.claimed",
    "grade.lost",
    "attempt.step_graded",
    "attempt.step_dispatched",
    "attempt.graded",
    "attempt.grading_failed",
)
POSITIONS = {"last_sequence", "scheduler_sequence"}
CHOICES = st.lists(st.integers(0, 999), max_size=50)
SHAPES = st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2))
NOISE = st.lists(st.tuples(*[st.integers(0, 9_999)] * 4), max_size=40)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def folded(records: Sequence[Recorded]) -> RunState:
    state = RunState("w", "r")
    for record in records:
        apply(state, record)
    return state


def seen(state: RunState) -> dict[str, Any]:
    """All of a state but the positions, which count the noise as well."""
    plain = {one.name: getattr(state, one.name) for one in fields(state) if one.name not in POSITIONS}
    return {**plain, "tally": +state.tally}


def dispatches(event: Event, key: str) -> bool:
    return isinstance(event, AttemptDispatched) and event.attempt == key


def placed(histories: Any, events: Sequence[Event]) -> list[Recorded]:
    return [histories.record(event, (place + 1) * histories.gap) for place, event in enumerate(events)]


@quick
@given(
    choices=CHOICES,
    shape=SHAPES,
    noise=st.lists(st.tuples(*[st.integers(0, 9_999)] * 4), max_size=40),
    stop=st.booleans(),
)
def test_repeats_and_stragglers_change_nothing(
    histories: Any, choices: list[int], shape: tuple[int, ...], noise: list[tuple[int, ...]], stop: bool
) -> None:
    events, places = histories.walk(choices, *shape)
    if stop:
        events.append(histories.event("run.stop_requested", reason="enough", requested_by="owner"))
        events.append(histories.event("run.attempts_cancelled", reason="enough"))
        events.append(histories.event("run.stopped", reason="enough"))
    records = placed(histories, events)
    noisy = list(records)
    for number, (place, which, kind, epoch) in enumerate(noise, 1):
        at = place % len(records) + 1
        sequence = at * histories.gap + number
        if which % 2:
            noisy.append(histories.record(events[kind % at], sequence))
            continue
        key = list(places)[which // 2 % len(places)]
        current = sum(dispatches(one, key) for one in events[:at])
        if current:
            here = histories.Place(epoch=current, round=epoch % 3, step=epoch % 2, steps=shape[-1])
            straggler = histories.of_attempt(STALE[kind % len(STALE)], key, epoch % current, here)
            noisy.append(histories.record(straggler, sequence))
    noisy.sort(key=lambda record: record.sequence)
    assert seen(folded(noisy)) == seen(folded(records))


@quick
@given(choices=CHOICES, shape=SHAPES)
def test_the_fold_follows_the_model_and_counts_each_result_once(
    histories: Any, choices: list[int], shape: tuple[int, ...]
) -> None:
    events, places = histories.walk(choices, *shape)
    state = RunState("w", "r")
    ended: dict[str, Any] = {}
    for record in placed(histories, events):
        apply(state, record)
        if isinstance(record.event, RetryRequested):
            assert ended.pop(record.event.attempt).status == "errored", "only what doesn't count is tried once more"
        for key, attempt in state.attempts.items():
            if attempt.status in TERMINAL_ATTEMPT:
                assert ended.setdefault(key, attempt) is attempt, "an outcome is final"
    assert {key: state.attempt(key).status for key in places} == {key: place.status for key, place in places.items()}
    assert +state.tally == Counter(attempt.status for attempt in state.attempts.values())
    assert state.settled == len(ended) <= state.expected == len(places)
    assert state.in_slots == sum(
        place.status not in {"planned", "retry_wait", "passed", "failed", "errored"} for place in places.values()
    )


@quick
@given(choices=CHOICES, shape=SHAPES, cut=st.integers(0, 60))
def test_reading_from_the_start_again_is_the_same_as_going_on(
    histories: Any, choices: list[int], shape: tuple[int, ...], cut: int
) -> None:
    records = placed(histories, histories.walk(choices, *shape)[0])
    state = folded(records[:cut])
    for record in records:
        apply(state, record)
    assert state == folded(records)


def run_with(histories: Any, *events: Event, agents: int = 1, tasks: int = 1) -> RunState:
    return folded(placed(histories, [*histories.opening(agents, tasks, 1), *events]))


def attempt_until(histories: Any, status: str, key: str = "0-0-1") -> list[Event]:
    """The shortest way of an attempt to a status."""
    paths: list[tuple[list[Event], Any]] = [([], histories.Place())]
    while paths:
        events, place = paths.pop(0)
        if place.status == status:
            return events
        paths += [([*events, event], after) for event, after in histories.moves(key, place)]
    raise AssertionError(status)


def test_a_run_goes_from_pending_to_running_with_its_first_claim(histories: Any) -> None:
    claimed = attempt_until(histories, "claimed")
    assert folded(placed(histories, histories.opening(1, 1, 1)[:1])).status is RunStatus.PENDING
    assert run_with(histories).status is RunStatus.QUEUED
    assert run_with(histories, *claimed[:-1]).status is RunStatus.QUEUED
    assert run_with(histories, *claimed).status is RunStatus.RUNNING


@pytest.mark.parametrize("before", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "content", "status"),
    [
        ("run.finished", {"passed": 1, "failed": 0, "errored": 0, "cancelled": 0}, RunStatus.FINISHED),
        ("run.failed", {"kind": "planning_failed", "message": "m"}, RunStatus.FAILED),
        ("run.stopped", {"reason": "enough"}, RunStatus.STOPPED),
    ],
)
def test_a_run_outcomesonce(histories: Any, before: int, kind: str, content: dict[str, Any], status: RunStatus) -> None:
    start = [*histories.opening(1, 1, 1), *attempt_until(histories, "claimed")][: before + 1]
    end = histories.event(kind, **content)
    state = folded(placed(histories, [*start, end]))
    assert state.status is status
    others = [
        histories.event("run.failed", kind="no_capacity", message="late"),
        histories.event("run.stopped", reason="late"),
        histories.event("run.stop_requested", reason="late", requested_by="owner"),
        *attempt_until(histories, "passed"),
    ]
    after = folded(placed(histories, [*start, end, *others]))
    assert seen(after) == seen(state)


def test_every_row_of_the_runs_table_is_one_of_the_tests_above() -> None:
    ends = {
        (status, f"run.{end}")
        for status in ("pending", "queued", "running")
        for end in ("finished", "failed", "stopped")
    }
    assert set(RUN_TABLE) == ends | {("pending", "run.planned"), ("queued", "attempt.claimed")}
    assert set(RUN_WATCH) == set(RunStatus) - TERMINAL_RUN


def test_a_grade_before_the_cancellation_counts_and_one_after_it_does_not(histories: Any) -> None:
    graded = attempt_until(histories, "passed")
    stop = histories.event("run.stop_requested", reason="enough", requested_by="owner")
    cancelled = histories.event("run.attempts_cancelled", reason="enough")
    early = run_with(histories, *graded[:-1], stop, graded[-1], cancelled, tasks=2)
    assert early.attempt("0-0-1").status == "passed"
    assert early.attempt("0-1-1").status == "cancelled", "an attempt that was never dispatched is cancelled too"
    late = run_with(histories, *graded[:-1], stop, cancelled, graded[-1])
    assert (late.attempt("0-0-1").status, late.attempt("0-0-1").score) == ("cancelled", None)


def test_sandboxes_are_owed_from_the_claim_to_the_cleaning(histories: Any) -> None:
    lost = attempt_until(histories, "claimed")
    lost.append(histories.of_attempt("attempt.lease_lost", "0-0-1", 1, histories.Place(epoch=1)))
    again = [
        histories.of_attempt("attempt.dispatched", "0-0-1", 2, histories.Place()),
        histories.of_attempt("attempt.claimed", "0-0-1", 2, histories.Place(), worker="runner-2"),
    ]
    cleaned = histories.of_attempt("attempt.cleaned", "0-0-1", 1, histories.Place())
    state = run_with(histories, *lost, *again)
    assert state.sandboxes == {("0-0-1", 1): "runner-1", ("0-0-1", 2): "runner-2"}
    assert run_with(histories, *lost, *again, cleaned).sandboxes == {("0-0-1", 2): "runner-2"}
    abandoned = histories.event("sandbox.abandoned", worker="runner-2", count=1)
    assert run_with(histories, *lost, *again, abandoned).sandboxes == {("0-0-1", 1): "runner-1"}


def test_the_run_is_cleaned_only_after_its_end(histories: Any) -> None:
    cleaned = histories.event("run.cleaned")
    assert not run_with(histories, cleaned).cleaned
    assert run_with(histories, histories.event("run.stopped", reason="enough"), cleaned).cleaned


def test_the_reason_for_waiting_goes_with_the_first_claim(histories: Any) -> None:
    waiting = histories.event("run.waiting", reason="no runner in pool default")
    assert run_with(histories, waiting).waiting == "no runner in pool default"
    assert run_with(histories, waiting, histories.event("run.waiting", reason="")).waiting is None
    assert run_with(histories, waiting, *attempt_until(histories, "claimed")).waiting is None


@pytest.mark.parametrize("key", ["1-0-1", "0-1-1", "0-0-2", "0-0-0"])
def test_an_attempt_outside_the_matrix_is_ignored(histories: Any, key: str) -> None:
    state = run_with(histories)
    event = histories.of_attempt("attempt.dispatched", "0-0-1", 1, histories.Place())
    assert not apply(state, histories.record(event.model_copy(update={"attempt": key}), 99_000))
    assert state.attempts == {}


def test_agents_take_turns_on_each_task(histories: Any) -> None:
    cells = [str(cell) for cell in folded(placed(histories, histories.opening(2, 2, 2))).cells()]
    assert cells == ["0-0-1", "1-0-1", "0-0-2", "1-0-2", "0-1-1", "1-1-1", "0-1-2", "1-1-2"]


STOPPED = [("run.attempts_cancelled", {"reason": "enough"})]
FAILED = [("run.failed", {"kind": "no_capacity", "message": "m"})]


@pytest.mark.parametrize(
    ("first", "second", "run", "status"),
    [
        ("planned", "planned", [], "pending"),
        ("dispatched", "planned", [], "running"),
        ("passed", "planned", [], "running"),
        ("passed", "errored", [], "finished"),
        ("failed", "errored", [], "finished"),
        ("errored", "errored", [], "failed"),
        ("passed", "dispatched", STOPPED, "stopped"),
        ("passed", "planned", FAILED, "failed"),
    ],
)
def test_an_agents_status(histories: Any, first: str, second: str, run: list[Any], status: str) -> None:
    events = [*attempt_until(histories, first), *attempt_until(histories, second, "0-1-1")]
    events += [histories.event(kind, **content) for kind, content in run]
    assert agent_status(run_with(histories, *events, tasks=2), 0) == status


def test_an_agents_status_is_its_own(histories: Any) -> None:
    state = run_with(histories, *attempt_until(histories, "passed"), agents=2)
    assert (agent_status(state, 0), agent_status(state, 1)) == ("finished", "pending")
