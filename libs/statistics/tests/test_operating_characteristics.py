"""What the rules promise on average, measured again on simulated runs, and how long a board takes."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

from proctor.statistics import Entrant, Metric, compare, pass_at_1, rank, sign_flip_integers

TASKS, ATTEMPTS, REPLICATES = 30, 3, 4000
ICC = 0.3


def simulated(rng: np.random.Generator, p: float, agents: int = 1) -> list[list[list[int]]]:
    """Successes [replicate][agent][task]; tasks' true rates are Beta with mean p and intra-task correlation ICC."""
    spread = (1 - ICC) / ICC
    rates = rng.beta(p * spread, (1 - p) * spread, size=(REPLICATES, 1, TASKS))
    return rng.binomial(ATTEMPTS, np.broadcast_to(rates, (REPLICATES, agents, TASKS))).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_the_interval_of_a_rate_covers_the_truth(p: float) -> None:
    found = [pass_at_1(successes, [ATTEMPTS] * TASKS) for (successes,) in simulated(np.random.default_rng(20), p)]
    assert 0.93 <= np.mean([rate is not None and rate.low <= p <= rate.high for rate in found]) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_equal_agents_are_called_different_one_time_in_twenty(p: float) -> None:
    runs = simulated(np.random.default_rng(21), p, agents=2)
    rejected = [sign_flip_integers([x - y for x, y in zip(a, b, strict=True)]).p <= 0.05 for a, b in runs]
    assert np.mean(rejected) <= 0.063


@pytest.mark.slow
def test_ten_points_are_seen_on_89_tasks_as_often_as_published() -> None:
    rng = np.random.default_rng(22)
    rates = rng.beta(1.5, 1.5, size=(1500, 89)) * 0.8 + 0.05
    a, b = rng.binomial(5, rates + 0.1), rng.binomial(5, rates)
    assert np.mean([sign_flip_integers(d).p <= 0.05 for d in (a - b).tolist()]) > 0.7


@pytest.mark.slow
def test_the_interval_of_a_difference_covers_the_truth(entrant: Callable[..., Entrant]) -> None:
    for p in (0.5, 0.9):
        covered = 0
        for a, b in simulated(np.random.default_rng(23), p, agents=2):
            found = compare(entrant("a", a, ATTEMPTS), entrant("b", b, ATTEMPTS), Metric.PASS_AT_1)
            covered += found.low is not None and found.high is not None and found.low <= 0 <= found.high
        assert covered / REPLICATES >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize("metric", [Metric.PASS_AT_1, Metric.PASS_AT_K, Metric.COST])
def test_a_board_of_20_entrants_500_tasks_and_5_attempts_takes_under_100_ms(
    entrant: Callable[..., Entrant], metric: Metric
) -> None:
    rng = np.random.default_rng(24)
    board = [
        entrant(f"e{i}", rng.binomial(5, 0.4 + i / 100, 500).tolist(), 5, costs=tuple(rng.lognormal(size=500).tolist()))
        for i in range(20)
    ]
    took: list[float] = []
    for _ in range(5):
        start = process_time()
        rank(board, metric)
        took.append(process_time() - start)
    assert min(took) < 0.1
