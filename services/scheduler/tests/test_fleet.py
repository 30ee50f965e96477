"""Silence and capacity, by beats."""

from typing import Any

import pytest

from proctor.contracts.messages import Beat
from proctor.scheduler.fleet import Fleet


def beat(worker: str, **changes: Any) -> Beat:
    usual = {
        "worker": worker,
        "incarnation": "i",
        "kind": "runner",
        "host": "h",
        "capacity": 4,
        "free": 4,
        "version": "0",
    }
    return Beat.model_validate({**usual, **changes})


def test_thirty_seconds_without_a_beat_are_a_loss() -> None:
    fleet = Fleet()
    fleet.heard(beat("a"))
    fleet.heard(beat("b"))
    for _ in range(29):
        assert fleet.tick(1) == []
    fleet.heard(beat("b"))
    assert [worker.name for worker in fleet.tick(1)] == ["a"]
    assert set(fleet.workers) == {"b"}
    assert fleet.tick(1) == [], "it is lost once"


def test_time_in_which_this_process_was_stopped_is_nobodys_silence() -> None:
    fleet = Fleet()
    fleet.heard(beat("a"))
    assert fleet.tick(3_600) == []
    assert fleet.view()[0].silence == 0
    for _ in range(9):
        assert fleet.tick(3) == []
    assert [worker.name for worker in fleet.tick(3)] == ["a"]


def test_a_worker_known_from_the_log_alone_gets_its_thirty_seconds() -> None:
    fleet = Fleet()
    fleet.expect("a")
    for _ in range(29):
        fleet.tick(1)
    fleet.expect("a")
    assert fleet.view() == (), "it was never heard"
    assert [worker.name for worker in fleet.tick(1)] == ["a"]


def test_an_expected_worker_that_is_heard_keeps_its_beat() -> None:
    fleet = Fleet()
    fleet.heard(beat("a", capacity=7))
    fleet.expect("a")
    assert fleet.capacity("default", {}) == 7


@pytest.mark.parametrize(
    ("change", "capacity"),
    [
        ({}, 4),
        ({"draining": True}, 0),
        ({"kind": "grader"}, 0),
        ({"pools": ("gpu",)}, 0),
        ({"pools": ("gpu", "default")}, 4),
    ],
)
def test_whose_places_count(change: dict[str, Any], capacity: int) -> None:
    fleet = Fleet()
    fleet.heard(beat("a", **change))
    assert fleet.capacity("default", {}) == capacity


def test_places_are_counted_by_what_the_log_says_each_holds() -> None:
    fleet = Fleet()
    fleet.heard(beat("a"))
    fleet.heard(beat("b", capacity=2))
    assert fleet.capacity("default", {"a": 1}) == 5
    assert fleet.capacity("default", {"a": 9, "b": 1, "gone": 3}) == 1, "one that is over its limit takes from no other"


def test_a_pool_has_a_runner_even_while_it_drains() -> None:
    fleet = Fleet()
    assert not fleet.has_runner("default")
    fleet.heard(beat("g", kind="grader"))
    assert not fleet.has_runner("default")
    fleet.heard(beat("a"))
    assert fleet.has_runner("default")
    assert not fleet.has_runner("gpu")
    assert [view.beat.worker for view in fleet.view()] == ["a", "g"]
