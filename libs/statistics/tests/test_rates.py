# pyright: basic
from itertools import combinations, pairwise
from math import isclose
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from proctor.statistics import curve, pass_at_1, pass_at_k, pass_hat_k

TASKS = st.integers(1, 7).flatmap(lambda m: st.tuples(st.lists(st.integers(0, m), min_size=1, max_size=40), st.just(m)))
UNEQUAL = st.lists(
    st.integers(1, 8).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))), min_size=1, max_size=25
)


def columns(tasks: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [passed for passed, _ in tasks], [made for _, made in tasks]


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_single_attempts_agree_with_scipy_and_statsmodels(counts: tuple[int, int]) -> None:
    passed, tasks = counts
    rate = pass_at_1([1] * passed + [0] * (tasks - passed), [1] * tasks)
    assert rate
    theirs = binomtest(passed, tasks).proportion_ci(method="wilson")
    assert rate.value == passed / tasks
    assert (rate.low, rate.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert (rate.low, rate.high) == pytest.approx(proportion_confint(passed, tasks, method="wilson"), abs=1e-12)


@given(st.integers(1, 7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m), st.integers(1, m))))
def test_pass_at_k_is_the_share_of_choices_of_k_attempts(case: tuple[int, int, int]) -> None:
    made, passed, k = case
    choices = list(combinations([True] * passed + [False] * (made - passed), k))
    any_of, all_of = pass_at_k([passed], [made], k), pass_hat_k([passed], [made], k)
    assert any_of
    assert all_of
    assert any_of.value == sum(map(any, choices)) / len(choices)
    assert all_of.value == sum(map(all, choices)) / len(choices)


@given(TASKS)
def test_effective_tasks_lie_between_tasks_and_attempts(case: tuple[list[int], int]) -> None:
    successes, made = case
    rate = pass_at_1(successes, [made] * len(successes))
    assert rate
    assert len(successes) * (1 - 1e-12) <= rate.n_eff <= len(successes) * made * (1 + 1e-12)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert rate.high > rate.low
    assert (rate.tasks, rate.attempts, rate.provisional) == (len(successes), made, False)


@given(TASKS)
def test_all_attempts_at_once_is_plain_wilson_on_tasks(case: tuple[list[int], int]) -> None:
    successes, made = case
    solved = sum(passed > 0 for passed in successes)
    rate = pass_at_k(successes, [made] * len(successes), made)
    assert rate
    assert (rate.value, rate.n_eff) == (solved / len(successes), len(successes))
    assert (rate.low, rate.high) == pytest.approx(
        proportion_confint(solved, len(successes), method="wilson"), abs=1e-12
    )


def test_repeats_of_certain_tasks_claim_no_more_tasks() -> None:
    once, often = pass_at_1([1] * 10, [1] * 10), pass_at_1([5] * 10, [5] * 10)
    assert once
    assert often
    assert (often.low, often.high) == (once.low, once.high)


def test_more_attempts_narrow_the_interval_when_tasks_vary() -> None:
    once, often = pass_at_1([1, 0] * 20, [1] * 40), pass_at_1([3, 2] * 20, [5] * 40)
    assert once
    assert often
    assert often.value == once.value
    assert often.high - often.low < 0.6 * (once.high - once.low)


@given(UNEQUAL, st.integers())
def test_order_of_tasks_changes_no_bit(tasks: list[tuple[int, int]], seed: int) -> None:
    (passed, made), (passed_shuffled, made_shuffled) = columns(tasks), columns(Random(seed).sample(tasks, len(tasks)))
    assert repr(pass_at_1(passed, made)) == repr(pass_at_1(passed_shuffled, made_shuffled))
    assert repr(curve(passed, made)) == repr(curve(passed_shuffled, made_shuffled))


@given(UNEQUAL)
def test_value_is_the_mean_over_tasks_not_over_attempts(tasks: list[tuple[int, int]]) -> None:
    rate = pass_at_1(*columns(tasks))
    assert rate
    assert isclose(rate.value, np.mean([passed / made for passed, made in tasks]), abs_tol=1e-12)
    assert isclose(rate.attempts, 1 / np.mean([1 / made for _, made in tasks]))
    assert rate.provisional == (len({made for _, made in tasks}) > 1)


@pytest.mark.parametrize("tasks", range(1, 60))
def test_ends_of_certain_rates_are_exact(tasks: int) -> None:
    none, all_of = pass_at_1([0] * tasks, [1] * tasks), pass_at_1([1] * tasks, [1] * tasks)
    assert none
    assert all_of
    assert (none.low, all_of.high) == (0, 1)


@pytest.mark.parametrize(
    ("successes", "low", "high"), [([1], 0.2065, 1), ([0], 0, 0.7935)], ids=["one pass", "one failure"]
)
def test_one_task(successes: list[int], low: float, high: float) -> None:
    rate = pass_at_1(successes, [1])
    assert rate
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=5e-5)


def test_a_missing_result_is_absent_and_not_a_failure() -> None:
    whole, holed = pass_at_1([2, 1, 2], [2, 2, 2]), pass_at_1([2, 1, 2, 0], [2, 2, 2, 0])
    assert whole
    assert holed
    assert (holed.value, holed.low, holed.high, holed.tasks) == (whole.value, whole.low, whole.high, 3)
    assert holed.provisional
    assert not whole.provisional


def test_one_missing_attempt_makes_a_rate_provisional() -> None:
    rate = pass_at_1([2, 1], [2, 2], attempts_per_task=3)
    assert rate
    assert rate.provisional


def test_without_results_there_is_no_rate() -> None:
    assert pass_at_1([], []) is None
    assert pass_at_1([0, 0], [0, 0], 1) is None


def test_pass_at_k_needs_k_attempts_of_every_task() -> None:
    assert pass_at_k([3, 2], [3, 2], 3) is None
    assert pass_at_k([3, 2], [3, 2], 2) is not None


@pytest.mark.parametrize(
    ("successes", "attempts", "k", "planned", "message"),
    [
        ([1, 2], [1, 1], 1, None, "task 1: 2 successes in 1 attempts"),
        ([-1], [1], 1, None, "task 0: -1 successes"),
        ([0], [3], 1, 2, "0 successes in 3 attempts of 2"),
        ([1], [1, 1], 1, None, "successes has 1 values and attempts 2"),
        ([1], [1], 0, None, "k is 0"),
        ([1], [1], 1, 0, "attempts_per_task is 0"),
    ],
)
def test_impossible_counts_are_refused(
    successes: list[int], attempts: list[int], k: int, planned: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pass_at_k(successes, attempts, k, planned)


def test_curve_rises_for_any_and_falls_for_all() -> None:
    points = curve([0, 1, 2, 4, 3], [4] * 5)
    assert [point.k for point in points] == [1, 2, 3, 4]
    assert points[0].pass_at_k.value == points[0].pass_hat_k.value == 0.5
    assert points[3].pass_at_k.value == 4 / 5
    assert points[3].pass_hat_k.value == 1 / 5
    assert all(a.pass_at_k.value <= b.pass_at_k.value for a, b in pairwise(points))
    assert all(a.pass_hat_k.value >= b.pass_hat_k.value for a, b in pairwise(points))


def test_curve_ends_at_the_fewest_attempts_and_skips_tasks_without_any() -> None:
    assert [point.k for point in curve([1, 2, 0], [2, 3, 0])] == [1, 2]
    assert curve([0, 0], [0, 0], 2) == ()
