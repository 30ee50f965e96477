from collections.abc import Callable

import pytest

from proctor.statistics import Entrant


def test_columns_follow_the_names_of_the_tasks(entrant: Callable[..., Entrant]) -> None:
    given = entrant("a", [2, 0, 1], 2, tasks=("c", "a", "b"), costs=(3.0, 1.0, None))
    assert given.tasks == ("a", "b", "c")
    assert given.successes == (0, 1, 2)
    assert given.costs == (1.0, None, 3.0)


def test_what_was_not_reported_is_unknown_on_every_task(entrant: Callable[..., Entrant]) -> None:
    assert entrant("a", [1, 0]).tokens == (None, None)


@pytest.mark.parametrize(("attempts", "complete"), [((2, 2), True), ((2, 1), False), ((2, 0), False)])
def test_complete_means_every_attempt_of_every_task(
    entrant: Callable[..., Entrant], attempts: tuple[int, ...], complete: bool
) -> None:
    assert entrant("a", [0, 0], 2, attempts=attempts).complete is complete


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tasks": ()}, "agent: tasks is empty; give at least one"),
        ({"tasks": ("t", "t")}, "agent: tasks has a name twice"),
        ({"successes": (1,)}, "agent: successes has 1 values for 2 tasks"),
        ({"costs": (1.0,)}, "agent: costs has 1 values for 2 tasks"),
        ({"successes": (2, 0)}, "agent: task t0: 2 successes in 1 attempts of 1"),
        ({"attempts": (2, 2)}, "agent: task t0: 1 successes in 2 attempts of 1"),
        ({"attempts_per_task": 0}, "agent: attempts_per_task is 0; it must be at least 1"),
        ({"costs": (1.0, -0.5)}, "agent: costs of t1 is -0.5; give a finite number >= 0, or None if unknown"),
        ({"times": (float("nan"), 1.0)}, "agent: times of t0 is nan"),
        ({"tokens": (1.0, float("inf"))}, "agent: tokens of t1 is inf"),
    ],
)
def test_impossible_columns_are_refused(
    entrant: Callable[..., Entrant], fields: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        entrant("agent", [1, 0], **({"tasks": ("t0", "t1")} | fields))
