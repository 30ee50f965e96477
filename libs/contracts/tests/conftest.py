"""Valid histories of attempts and runs, from a model of the design's section 4 that shares no code with the folds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.contracts.config import RunConfig
from proctor.contracts.events import ANY_EVENT, Event
from proctor.contracts.records import Recorded

GAP = 1_000
SECONDS = {"startup": 0, "transfer": 0, "run": 1, "parse": 0}
TASK = {"name": "org/task", "digest": "sha256:" + "0" * 64, "package": "task/0"}
CONFIG = RunConfig.model_validate({"experiment": {"benchmark": "first-steps"}, "agents": [{"harness": "oracle"}]})


@dataclass(frozen=True)
class Place:
    """Where an attempt stands, by the design alone."""

    status: str = "planned"
    epoch: int = 0
    step: int = 0
    round: int = 0
    steps: int = 1


def event(kind: str, /, **content: Any) -> Event:
    return ANY_EVENT.validate_python({"type": kind, **content})


def fields(kind: str, place: Place) -> dict[str, Any]:
    """What an event of an attempt says besides its attempt and epoch."""
    work = {"workspace": "w", "run": "r", "attempt": "0-0-1", "epoch": 1, "task": TASK, "timeout_multiplier": 1}
    step = place.step if place.steps > 1 else None
    grade = {**work, "round": 1, "sandbox": "s", "runner": "runner-1", "threshold": "1.0"}
    tables: dict[str, dict[str, Any]] = {
        "attempt.dispatched": {
            "pool": "default",
            "work": {**work, "run_name": "r", "agent": {"index": 0, "harness": "oracle"}, "lifetime": 1},
        },
        "attempt.claimed": {"worker": "runner-1", "incarnation": "i1", "host": "h"},
        "attempt.sandbox_ready": {"sandbox": "s", "backend": "docker", "image": "i", "seconds": 1},
        "attempt.agent_started": {"step": step},
        "attempt.agent_finished": {"step": step, "seconds": 1},
        "attempt.errored": {"phase": "agent", "kind": "platform_error", "message": "m"},
        "attempt.retry_scheduled": {"kind": "platform_error", "delay": 1, "tries": 1},
        "attempt.settled": {"outcome": "errored", "kind": "runner_lost", "message": "m", "counts": False},
        "attempt.retry_requested": {"requested_by": "owner"},
        "attempt.lease_lost": {"worker": "runner-1", "reason": "silent"},
        "grade.dispatched": {"pool": "default", "round": place.round + 1, "work": grade},
        "grade.claimed": {"round": place.round, "worker": "grader-1", "incarnation": "i1"},
        "grade.lost": {"round": place.round, "worker": "grader-1", "reason": "silent"},
        "attempt.step_graded": {
            "round": place.round,
            "step": place.step,
            "rewards": {"reward": "1"},
            "seconds": SECONDS,
        },
        "attempt.step_dispatched": {"step": place.step + 1},
        "attempt.graded": {
            "round": place.round,
            "rewards": {"reward": "1"},
            "score": "1",
            "threshold": "1.0",
            "passed": True,
            "mode": "shared",
            "seconds": SECONDS,
        },
        "attempt.grading_failed": {"round": place.round, "kind": "reward_missing", "message": "m"},
        "attempt.cleaned": {"sandbox": "s"},
    }
    return tables[kind]


def of_attempt(kind: str, key: str, epoch: int, place: Place, /, **changes: Any) -> Event:
    return event(kind, attempt=key, epoch=epoch, **{**fields(kind, place), **changes})


Row = tuple[str, str, dict[str, Any]]
LOST: Row = ("attempt.lease_lost", "planned", {})
ERRORED: Row = ("attempt.errored", "deciding", {})
SETTLED: Row = ("attempt.settled", "errored", {})
MOVES: dict[str, list[Row]] = {
    "planned": [("attempt.dispatched", "dispatched", {}), SETTLED],
    "retry_wait": [("attempt.dispatched", "dispatched", {})],
    "dispatched": [("attempt.claimed", "claimed", {})],
    "claimed": [("attempt.sandbox_ready", "sandbox_ready", {}), ERRORED, LOST],
    "sandbox_ready": [("attempt.agent_started", "agent_running", {}), ERRORED, LOST],
    "agent_running": [("attempt.agent_finished", "awaiting_grade", {}), ERRORED, LOST],
    "awaiting_grade": [("grade.dispatched", "grade_dispatched", {}), SETTLED, LOST],
    "grade_dispatched": [("grade.claimed", "grading", {}), SETTLED, LOST],
    "grading": [
        ("attempt.graded", "passed", {}),
        ("attempt.graded", "failed", {"passed": False, "score": "0"}),
        ("attempt.grading_failed", "deciding", {}),
        ("grade.lost", "awaiting_grade", {}),
        ("attempt.step_graded", "step_graded", {}),
        LOST,
    ],
    "step_graded": [("attempt.step_dispatched", "sandbox_ready", {}), LOST],
    "deciding": [
        ("attempt.retry_scheduled", "retry_wait", {}),
        SETTLED,
        ("attempt.settled", "failed", {"outcome": "failed", "counts": True}),
    ],
    "errored": [("attempt.retry_requested", "retry_wait", {})],
}
MOVED: dict[str, Callable[[Place], Place]] = {
    "attempt.dispatched": lambda place: replace(place, epoch=place.epoch + 1, step=0, round=0),
    "attempt.step_dispatched": lambda place: replace(place, step=place.step + 1),
    "grade.dispatched": lambda place: replace(place, round=place.round + 1),
}
POSSIBLE: dict[tuple[str, str], Callable[[Place], bool]] = {
    ("planned", "attempt.settled"): lambda place: place.epoch > 0,
    ("grading", "attempt.step_graded"): lambda place: place.step < place.steps - 1,
}


def moves(key: str, place: Place) -> list[tuple[Event, Place]]:
    """Every event that may come next, and where it leads."""
    found: list[tuple[Event, Place]] = []
    for kind, status, changes in MOVES.get(place.status, []):
        if POSSIBLE.get((place.status, kind), bool)(place):
            after = replace(MOVED.get(kind, replace)(place), status=status)
            found.append((of_attempt(kind, key, after.epoch, place, **changes), after))
    return found


GATEWAYS = {
    "run.submitted",
    "run.stop_requested",
    "run.agent_stop_requested",
    "run.paused",
    "run.resumed",
    "attempt.retry_requested",
}


def writer_of(one: Event) -> str:
    if one.type in GATEWAYS:
        return "gateway"
    scheduled = ("dispatched", "retry_scheduled", "settled", "lease_lost", "lost", "step_dispatched")
    return "scheduler" if one.type.startswith("run.") or one.type.split(".")[1] in scheduled else "runner-1"


def record(one: Event, sequence: int) -> Recorded:
    return Recorded.model_construct(
        sequence=sequence,
        workspace="w",
        aggregate="run",
        id="r",
        writer=writer_of(one),
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
        occurred_at=None,
        actor=None,
        event=one,
    )


def opening(agents: int, tasks: int, number: int) -> list[Event]:
    submitted = event(
        "run.submitted",
        run="r",
        name="calm-otter",
        benchmark="first-steps",
        benchmark_key="first-steps",
        benchmark_name="first-steps",
        version="v1",
        manifest="manifest/1",
        pass_threshold="1.0",
        config=CONFIG.model_dump(),
        submitted_by="owner",
    )
    planned = event(
        "run.planned",
        lock="lock/1",
        task_set="full",
        agents=agents,
        tasks=tasks,
        attempts_per_task=number,
        max_concurrent_attempts=4,
        max_retries=3,
    )
    return [submitted, planned]


def walk(
    choices: Sequence[int], agents: int, tasks: int, number: int, steps: int
) -> tuple[list[Event], dict[str, Place]]:
    """A valid history: each choice moves one attempt on. The places are where the attempts end up."""
    keys = [f"{a}-{t}-{n}" for t in range(tasks) for n in range(1, number + 1) for a in range(agents)]
    places = {key: Place(steps=steps) for key in keys}
    history = opening(agents, tasks, number)
    for choice in choices:
        key = keys[choice % len(keys)]
        options = moves(key, places[key])
        if options:
            one, places[key] = options[choice // len(keys) % len(options)]
            history.append(one)
    return history, places


@pytest.fixture(scope="session")
def histories() -> Any:
    return SimpleNamespace(
        Place=Place,
        event=event,
        of_attempt=of_attempt,
        moves=moves,
        record=record,
        opening=opening,
        walk=walk,
        gap=GAP,
    )


@pytest.fixture(scope="session")
def make_event() -> Callable[..., Event]:
    return event
