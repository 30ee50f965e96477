"""Metrics of a set of results: what counts, what is unknown, what isn't there yet."""

from typing import Any

import pytest

from proctor.leaderboard.scores import Score, entrant, run_metrics, run_ranks


def score(task: int, passed: bool | None = True, **fields: Any) -> Score:
    given: dict[str, Any] = {
        "category": None,
        "counts": passed is not None,
        "kind": None,
        "cost_usd": 0.5,
        "agent_seconds": 10.0,
        "input_tokens": 100,
        "output_tokens": 10,
    }
    return Score(task=task, passed=passed, **(given | fields))


def measured(*scores: Score, tasks: int, attempts: int = 1) -> dict[str, Any]:
    one = entrant(
        "x",
        finished=1,
        version="v",
        tasks=[f"t{index}" for index in range(tasks)],
        attempts_per_task=attempts,
        scores=scores,
    )
    return run_metrics(one, scores)


def test_seven_of_ten_has_the_textbook_wilson_interval() -> None:
    found = measured(*(score(task, task < 7) for task in range(10)), tasks=10)
    rate = found["pass_at_1"]
    assert (rate["value"], rate["n"], rate["method"]) == (0.7, 10, "wilson")
    assert (rate["ci_low"], rate["ci_high"]) == pytest.approx((0.396778, 0.892209), abs=1e-6)
    assert found["pass_at_k"] == []
    assert not found["provisional"]


def test_an_unscored_attempt_is_missing_data_and_no_failure() -> None:
    found = measured(score(0), score(1, None, kind="runner_lost"), tasks=2)
    assert found["pass_at_1"]["value"] == 1.0
    assert (found["counted"], found["expected"], found["provisional"]) == (1, 2, True)
    assert found["failures"] == [{"kind": "runner_lost", "fault": "infrastructure", "count": 1}]


def test_nothing_scored_is_no_rate_and_not_zero() -> None:
    found = measured(score(0, None), tasks=2)
    assert (found["pass_at_1"], found["cost_per_task"], found["time_per_task"]) == (None, None, None)


def test_a_cost_that_one_attempt_lacks_makes_its_task_unknown() -> None:
    found = measured(
        score(0, cost_usd=1.0), score(0, cost_usd=3.0), score(1, cost_usd=None), score(1), tasks=2, attempts=2
    )
    assert found["cost_per_task"]["value"] == 2.0
    assert (found["cost_per_task"]["tasks"], found["cost_per_task"]["missing"]) == (1, 1)
    assert found["reported"] == {"cost": 3, "time": 4, "tokens": 4}


def test_free_is_a_known_cost() -> None:
    assert measured(score(0, cost_usd=0.0), tasks=1)["cost_per_task"]["value"] == 0.0


def test_means_are_over_tasks_so_that_attempt_counts_do_not_weigh() -> None:
    found = measured(
        score(0, agent_seconds=10.0), score(0, agent_seconds=20.0), score(1, agent_seconds=45.0), tasks=2, attempts=2
    )
    assert found["time_per_task"]["value"] == 30.0
    assert found["tokens_per_task"]["value"] == 110.0


def test_pass_at_k_goes_up_to_the_smallest_number_of_attempts() -> None:
    found = measured(
        *(score(0, passed) for passed in (True, False, False)), score(1, False), score(1, True), tasks=2, attempts=3
    )
    assert [(point["k"], point["value"]) for point in found["pass_at_k"]] == [
        (1, pytest.approx((1 / 3 + 1 / 2) / 2)),
        (2, pytest.approx((2 / 3 + 1) / 2)),
    ]


def test_categories_hold_the_tasks_that_have_them() -> None:
    found = measured(score(0, category="math"), score(1, False, category="code"), score(2), tasks=3)
    assert [(one["name"], one["passed"], one["pass_at_1"]["value"]) for one in found["categories"]] == [
        ("code", 0, 0.0),
        ("math", 1, 1.0),
    ]


def test_agents_of_a_run_are_ranked_when_it_has_ended() -> None:
    def agent(name: int, passed: int, made: int = 20) -> Any:
        return entrant(
            str(name),
            finished=name,
            version="v",
            tasks=[f"t{index}" for index in range(20)],
            attempts_per_task=1,
            scores=[score(task, task < passed) for task in range(made)],
        )

    agents = {0: agent(0, 0), 1: agent(1, 20), 2: agent(2, 20), 3: agent(3, 10, made=10)}
    ended = run_ranks(agents, ended=True)
    assert {index: (one["rank"], one["tied"]) for index, one in ended.items()} == {
        0: (3, False),
        1: (1, False),
        2: (1, True),
        3: (None, False),
    }
    assert {one["rank"] for one in run_ranks(agents, ended=False).values()} == {None}
