"""Numbers from publications, or from two independent computations, to the last digit given."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from proctor.statistics import pass_at_1, pass_at_k, pass_hat_k, sign_flip_integers

type Row = dict[str, str]


def golden(name: str) -> pytest.MarkDecorator:
    with (Path(__file__).parent / "golden" / f"{name}.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return pytest.mark.parametrize("row", rows, ids=[" ".join(row.values())[:70] for row in rows])


def agrees(computed: float, published: str) -> bool:
    """Within half a unit of the last digit printed, and of 1e-9 where the number is exact."""
    exponent = Decimal(published).as_tuple().exponent
    assert isinstance(exponent, int)
    slack = Decimal("1e-9") if exponent == 0 else Decimal(5).scaleb(exponent - 1)
    return abs(Decimal(computed) - Decimal(published)) <= slack


def integers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


@golden("wilson")
def test_wilson_interval_of_single_attempts(row: Row) -> None:
    passed, tasks = int(row["passed"]), int(row["tasks"])
    rate = pass_at_1([1] * passed + [0] * (tasks - passed), [1] * tasks)
    assert rate
    assert agrees(rate.low, row["low"])
    assert agrees(rate.high, row["high"])


@golden("pass_at_k")
def test_value_of_one_task(row: Row) -> None:
    rate = {"pass_at_k": pass_at_k, "pass_hat_k": pass_hat_k}[row["metric"]](
        [int(row["successes"])], [int(row["attempts"])], int(row["k"])
    )
    assert rate
    assert agrees(rate.value, row["value"])


@golden("mcnemar")
def test_one_attempt_per_task_is_mcnemar(row: Row) -> None:
    found = sign_flip_integers([1] * int(row["first_only"]) + [-1] * int(row["second_only"]) + [0] * 3)
    assert agrees(found.p_at_least, row["exact"])
    assert agrees(found.p, row["mid_p"])


@golden("sign_flip")
def test_sign_flip(row: Row) -> None:
    found = sign_flip_integers(integers(row["differences"]))
    assert agrees(found.p_at_least, row["exact"])
    assert agrees(found.p, row["mid_p"])


@golden("rate_intervals")
def test_interval_of_repeated_attempts(row: Row) -> None:
    successes = integers(row["successes"])
    rate = pass_at_1(successes, [int(row["attempts"])] * len(successes))
    assert rate
    for column in ("value", "low", "high", "n_eff"):
        assert agrees(getattr(rate, column), row[column]), column
