"""Formulae of 95 % intervals."""

from math import sqrt

from scipy.special import stdtrit

Z = 1.959963984540054
"""The .975 quantile of the normal distribution."""

type Interval = tuple[float, float]


def wilson(p: float, n: float) -> Interval:
    """Wilson's score interval of a rate p seen on n tasks; n may be a fraction (an effective number)."""
    shrink = 1 + Z * Z / n
    centre = (p + Z * Z / (2 * n)) / shrink
    half = Z / shrink * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return (0.0 if p == 0 else max(0.0, centre - half), 1.0 if p == 1 else min(1.0, centre + half))


def mover(a: tuple[float, float, float], b: tuple[float, float, float], r: float) -> tuple[float, float]:
    """How far the interval of a - b reaches below and above it (Zou & Donner 2008).

    Takes (low, value, high) of each rate and their correlation r over tasks.
    """
    (low_a, value_a, high_a), (low_b, value_b, high_b) = a, b
    below = _hypotenuse(value_a - low_a, high_b - value_b, r)
    above = _hypotenuse(high_a - value_a, value_b - low_b, r)
    return below, above


def _hypotenuse(x: float, y: float, r: float) -> float:
    return sqrt(max(0.0, x * x + y * y - 2 * r * (x * y)))


def student_t(mean: float, deviation: float, n: int) -> Interval | None:
    """Interval of a mean of n values whose sample standard deviation is given; None for a single value."""
    if n < 2:
        return None
    half = float(stdtrit(n - 1, 0.975)) * deviation / sqrt(n)
    return mean - half, mean + half
