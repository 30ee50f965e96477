# pyright: basic
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.statistics import Mean, mean

AMOUNTS = st.lists(st.floats(0, 1e6), min_size=2, max_size=40)


@given(AMOUNTS)
def test_interval_is_students_t_clipped_at_zero(values: list[float]) -> None:
    found = mean(values)
    assert found
    assert found.value == pytest.approx(np.mean(values))
    if np.std(values) < 1e-6:
        return
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((max(0.0, theirs.low), theirs.high), rel=1e-6, abs=1e-9)


@given(AMOUNTS, st.integers())
def test_order_changes_no_bit(values: list[float], seed: int) -> None:
    assert repr(mean(values)) == repr(mean(Random(seed).sample(values, len(values))))


def test_unknown_is_left_out_and_never_zero() -> None:
    found = mean([2.0, None, 4.0])
    assert found
    assert (found.value, found.tasks, found.missing) == (3.0, 2, 1)
    assert mean([None, None]) is None
    assert mean([]) is None


def test_one_value_has_no_interval() -> None:
    assert mean([2.5]) == Mean(2.5, None, None, 1, 0)


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert mean([2.5, 2.5, 2.5]) == Mean(2.5, 2.5, 2.5, 3, 0)


def test_negative_rewards_keep_their_lower_end() -> None:
    found = mean([-1.0, -2.0, -3.0])
    assert found
    assert found.low is not None
    assert found.low < found.value == -2.0
