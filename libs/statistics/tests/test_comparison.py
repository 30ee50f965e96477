# pyright: basic
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from proctor.statistics import Entrant, Metric, compare, pass_at_1
from proctor.statistics.intervals import mover

PAIRS = st.integers(1, 5).flatmap(
    lambda m: st.tuples(st.just(m), st.lists(st.tuples(st.integers(0, m), st.integers(0, m)), min_size=1, max_size=40))
)
COSTS = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=2, max_size=30)


def test_what_a_reader_sees_of_a_rate(entrant: Callable[..., Entrant]) -> None:
    worse, leader = entrant("worse", [3, 0, 1, 2, 0], 3), entrant("leader", [3, 3, 2, 1, 3], 3)
    found = compare(worse, leader, Metric.PASS_AT_1)
    assert (found.entrant, found.leader) == ("worse", "leader")
    assert found.difference == pytest.approx(6 / 15 - 12 / 15)
    assert (found.wins, found.losses, found.equal) == (1, 3, 1)
    assert (found.tasks, found.attempts, found.method) == (5, (3, 3), "sign_flip_mid_p")
    # magnitudes 3 1 1 3, sum 6 of 8: two of 16 sign patterns reach 8, four reach 6 in full
    assert found.p == pytest.approx(2 / 16 + 4 / 16 / 2)
    assert found.p_adjusted == found.p
    assert found.ratio is None


def test_what_a_reader_sees_of_a_cost(entrant: Callable[..., Entrant]) -> None:
    dear, leader = entrant("dear", [1] * 4, costs=(2, 6, 1, 4)), entrant("cheap", [1] * 4, costs=(1, 2, 4, 4))
    found = compare(dear, leader, Metric.COST)
    assert found.difference == pytest.approx(13 / 4 - 11 / 4)
    assert (found.wins, found.losses, found.equal) == (1, 2, 1)
    # magnitudes 1 4 3 (and 0), sum 2: all but the two patterns 1 + 3 - 4 reach it
    assert (found.p, found.method) == (6 / 8, "sign_flip_exact")
    theirs = stats.ttest_rel(dear.costs, leader.costs).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.ratio
    assert found.ratio.median == 1.5


def test_ratio_of_costs_has_wilcoxons_p(entrant: Callable[..., Entrant]) -> None:
    dear, cheap = entrant("dear", [1] * 6, costs=(3, 4, 5, 6, 7, 8)), entrant("cheap", [1] * 6, costs=(2,) * 6)
    ratio = compare(dear, cheap, Metric.COST).ratio
    assert ratio
    assert (ratio.median, ratio.p) == (2.75, pytest.approx(2 / 2**6))  # all six one way


def test_a_ratio_needs_values_above_zero(entrant: Callable[..., Entrant]) -> None:
    free, paid = entrant("free", [1, 1], times=(0, 1)), entrant("paid", [1, 1], times=(1, 1))
    assert compare(free, paid, Metric.TIME).ratio is None


def test_identical_costs(entrant: Callable[..., Entrant]) -> None:
    a, b = entrant("a", [1, 1], tokens=(5, 6)), entrant("b", [1, 1], tokens=(5, 6))
    found = compare(a, b, Metric.TOKENS)
    assert (found.difference, found.p, found.low, found.high) == (0, 1, 0, 0)
    assert found.ratio
    assert (found.ratio.median, found.ratio.p) == (1, 1)


def test_one_task_of_cost_has_no_interval(entrant: Callable[..., Entrant]) -> None:
    found = compare(entrant("a", [1], costs=(2,)), entrant("b", [1], costs=(1,)), Metric.COST)
    assert (found.low, found.high, found.p) == (None, None, 1)


@pytest.mark.parametrize("successes", [[1] * 10, [0] * 10, [1, 0] * 5], ids=["all pass", "all fail", "identical"])
def test_identical_results_are_p_1(entrant: Callable[..., Entrant], successes: list[int]) -> None:
    found = compare(entrant("a", successes), entrant("b", successes), Metric.PASS_AT_1)
    assert (found.p, found.difference) == (1, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0 <= found.high


def test_ten_of_ten_against_nine_of_ten(entrant: Callable[..., Entrant]) -> None:
    assert compare(entrant("a", [1] * 9 + [0]), entrant("b", [1] * 10), Metric.PASS_AT_1).p == 0.5


def test_five_discordant_tasks_are_the_least_that_can_separate(entrant: Callable[..., Entrant]) -> None:
    none = entrant("none", [0] * 10)
    assert compare(none, entrant("four", [1] * 4 + [0] * 6), Metric.PASS_AT_1).p == 0.0625
    assert compare(none, entrant("five", [1] * 5 + [0] * 5), Metric.PASS_AT_1).p == 0.03125


def test_unequal_attempts_compare_rates(entrant: Callable[..., Entrant]) -> None:
    twice, thrice = entrant("twice", [1, 2, 0], 2), entrant("thrice", [2, 3, 0], 3)
    found = compare(twice, thrice, Metric.PASS_AT_1)
    assert found.difference == pytest.approx(-1 / 18)
    assert (found.wins, found.losses, found.equal, found.attempts) == (0, 1, 2, (2, 3))


def test_pass_at_k_and_pass_hat_k_compare_their_own_scores(entrant: Callable[..., Entrant]) -> None:
    steady, spread = entrant("steady", [4, 4, 0, 0], 4), entrant("spread", [2, 2, 2, 2], 4)
    assert compare(steady, spread, Metric.PASS_AT_1).difference == 0
    assert compare(steady, spread, Metric.PASS_AT_K, 4).difference == pytest.approx(0.5 - 1)
    assert compare(steady, spread, Metric.PASS_HAT_K, 4).difference == pytest.approx(0.5)


@given(PAIRS)
def test_swapping_negates_the_difference_to_the_bit(
    entrant: Callable[..., Entrant], case: tuple[int, list[tuple[int, int]]]
) -> None:
    made, pairs = case
    a, b = entrant("a", [x for x, _ in pairs], made), entrant("b", [y for _, y in pairs], made)
    one, other = compare(a, b, Metric.PASS_AT_1), compare(b, a, Metric.PASS_AT_1)
    assert other.p == one.p
    assert other.difference == -one.difference
    assert one.low is not None
    assert one.high is not None
    assert (other.low, other.high) == (-one.high, -one.low)
    assert (other.wins, other.losses) == (one.losses, one.wins)
    assert -1 <= one.low <= one.difference <= one.high <= 1


@given(PAIRS, st.integers())
def test_a_task_on_which_both_are_equal_leaves_p_unchanged(
    entrant: Callable[..., Entrant], case: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    made, pairs = case
    same = Random(seed).randint(0, made)
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    before = compare(entrant("a", a, made), entrant("b", b, made), Metric.PASS_AT_1)
    after = compare(entrant("a", [*a, same], made), entrant("b", [*b, same], made), Metric.PASS_AT_1)
    assert after.p == before.p


@given(COSTS, st.integers())
def test_order_of_tasks_changes_no_bit_of_a_cost(
    entrant: Callable[..., Entrant], pairs: list[tuple[float, float]], seed: int
) -> None:
    order = Random(seed).sample(range(len(pairs)), len(pairs))
    names = tuple(f"t{i:04}" for i in order)
    dear, cheap = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    passed = [1] * len(pairs)
    found = compare(entrant("a", passed, costs=dear), entrant("b", passed, costs=cheap), Metric.COST)
    shuffled = compare(
        entrant("a", passed, tasks=names, costs=tuple(dear[i] for i in order)),
        entrant("b", passed, tasks=names, costs=tuple(cheap[i] for i in order)),
        Metric.COST,
    )
    assert repr(shuffled) == repr(found)


def test_unpaired_interval_equals_newcombes_hybrid_score() -> None:
    one, other = pass_at_1([1] * 56 + [0] * 14, [1] * 70), pass_at_1([1] * 48 + [0] * 32, [1] * 80)
    assert one
    assert other
    below, above = mover((one.low, one.value, one.high), (other.low, other.value, other.high), 0)
    found = (56 / 70 - 48 / 80 - below, 56 / 70 - 48 / 80 + above)
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)  # Newcombe 1998b, table II, contrast a, method 10
    assert found == pytest.approx(confint_proportions_2indep(56, 70, 48, 80, method="newcomb"))


@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
def test_paired_interval_nears_paired_t_on_many_tasks(entrant: Callable[..., Entrant], overlap: float) -> None:
    rng = np.random.default_rng(11)
    a, fresh = rng.random(4000) < 0.5, rng.random(4000) < 0.4
    b = np.where(rng.random(4000) < overlap, a, fresh)
    found = compare(entrant("a", a.astype(int).tolist()), entrant("b", b.astype(int).tolist()), Metric.PASS_AT_1)
    theirs = stats.ttest_rel(a.astype(float), b.astype(float)).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.02 * (theirs.high - theirs.low))


@pytest.mark.parametrize(
    ("other", "metric", "k", "message"),
    [
        ({"version": "2.0"}, Metric.PASS_AT_1, 1, "other and leader differ in version; compare like with like"),
        ({"tasks": ("x", "y")}, Metric.PASS_AT_1, 1, "differ in task_set"),
        ({"attempts": (2, 1)}, Metric.PASS_AT_1, 1, "other has attempts without a result"),
        ({}, Metric.PASS_AT_K, 3, "other has 2 attempts per task; pass_at_k with k=3 needs 3"),
        ({"costs": (1.0, None)}, Metric.COST, 1, "other reports cost on 1 of 2 tasks"),
    ],
)
def test_unlike_things_are_not_compared(
    entrant: Callable[..., Entrant], other: dict[str, object], metric: Metric, k: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        compare(entrant("other", [1, 0], 2, **other), entrant("leader", [2, 2], 2), metric, k)
