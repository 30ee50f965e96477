# pyright: basic
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test
from statsmodels.stats.contingency_tables import mcnemar

from proctor.statistics import sign_flip_integers, sign_flip_reals

SMALL = st.lists(st.integers(-9, 9), min_size=1, max_size=10)
LONG = st.lists(st.integers(-7, 7), min_size=1, max_size=120)
REALS = st.lists(st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=1, max_size=60)


@given(SMALL)
def test_integers_equal_brute_force(differences: list[int]) -> None:
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    seen = abs(sum(differences))
    beyond, at = sum(s > seen for s in sums) / len(sums), sum(s == seen for s in sums) / len(sums)
    found = sign_flip_integers(differences)
    assert found.p_at_least == pytest.approx(beyond + at, abs=1e-13)
    assert found.p == pytest.approx(beyond + at / 2 if any(differences) else 1, abs=1e-13)
    assert found.method == "sign_flip_mid_p"


@given(st.integers(0, 60), st.integers(0, 60))
def test_unit_differences_equal_mcnemar(wins: int, losses: int) -> None:
    assume(wins + losses)
    found = sign_flip_integers([1] * wins + [-1] * losses)
    assert found.p_at_least == pytest.approx(binomtest(wins, wins + losses).pvalue, rel=1e-9)
    theirs = mcnemar([[0, wins], [losses, 0]], exact=True)
    assert found.p_at_least == pytest.approx(theirs.pvalue, rel=1e-9)  # pyright: ignore[reportAttributeAccessIssue]


@given(st.lists(st.integers(-400, 400).map(lambda eighths: eighths / 8), min_size=2, max_size=9))
def test_reals_equal_scipys_exact_test(differences: list[float]) -> None:
    theirs = permutation_test(
        (np.array(differences),),
        lambda x, axis: np.abs(np.sum(x, axis=axis)),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=10_000,
    )
    found = sign_flip_reals(differences)
    assert found.method == "sign_flip_exact"
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_resampling_comes_close_to_the_exact_test(shift: int) -> None:
    differences: list[int] = (np.random.default_rng(7).integers(-20, 21, 60) + 3 * shift).tolist()
    exact, found = sign_flip_integers(differences).p_at_least, sign_flip_reals(differences)
    assert found.method == "sign_flip_resampled"
    assert found.p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 9999) ** 0.5 + 1e-4)


def test_sums_that_differ_by_rounding_only_are_equal() -> None:
    assert 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 < 1
    assert sign_flip_reals([0.1] * 10).p == 2 / 2**10


def test_a_resampled_p_is_never_zero() -> None:
    assert sign_flip_reals([1.0] * 100).p == 1 / 10_000


@pytest.mark.parametrize(("tasks", "method"), [(13, "sign_flip_exact"), (14, "sign_flip_resampled")])
def test_reals_are_exact_up_to_10_000_sign_patterns(tasks: int, method: str) -> None:
    assert sign_flip_reals([1.5] * tasks).method == method


def test_integers_whose_magnitudes_pass_a_million_are_resampled() -> None:
    within, beyond = [999_984] + [1] * 16, [999_985] + [1] * 16
    assert sign_flip_integers(within).method == "sign_flip_mid_p"
    assert sign_flip_integers(beyond).method == "sign_flip_resampled"
    assert sign_flip_integers(beyond).p == pytest.approx(sign_flip_integers(within).p_at_least, abs=0.01)


def test_integers_beyond_floating_point_range() -> None:
    huge = [10**400 + i for i in range(20)]
    assert sign_flip_integers(huge).p == 1 / 10_000
    assert sign_flip_integers([10**400] * 20).p == pytest.approx(2**-20)


def test_a_thousand_and_more_tasks() -> None:
    differences = [1] * 1300 + [-1] * 1200
    assert sign_flip_integers(differences).p_at_least == pytest.approx(binomtest(1200, 2500).pvalue, rel=1e-9)


def test_nothing_discordant_is_p_1() -> None:
    assert [sign_flip_integers([]).p, sign_flip_integers([0, 0]).p] == [1.0, 1.0]
    assert [sign_flip_reals([]).p, sign_flip_reals([0.0, 0.0]).p] == [1.0, 1.0]


@given(LONG, st.integers(), st.integers(0, 5))
def test_integers_order_direction_and_equal_tasks_change_no_bit(differences: list[int], seed: int, zeros: int) -> None:
    changed = Random(seed).sample([-d for d in differences] + [0] * zeros, len(differences) + zeros)
    assert sign_flip_integers(changed) == sign_flip_integers(differences)


@given(REALS, st.integers(), st.integers(0, 5))
def test_reals_order_direction_and_equal_tasks_change_no_bit(differences: list[float], seed: int, zeros: int) -> None:
    changed = Random(seed).sample([-d for d in differences] + [0.0] * zeros, len(differences) + zeros)
    assert sign_flip_reals(changed) == sign_flip_reals(differences)


@given(LONG, st.integers(1, 50))
def test_unit_of_the_differences_changes_no_bit(differences: list[int], unit: int) -> None:
    assert sign_flip_integers([d * unit for d in differences]) == sign_flip_integers(differences)
