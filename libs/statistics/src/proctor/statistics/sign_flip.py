"""The paired sign-flip test: were the labels of two entrants exchanged on any task, would it look like this?

Under that hypothesis each per-task difference has a random sign. The test is two-sided on the absolute sum, needs
no distribution, and with one attempt per task is McNemar's. It sees the magnitudes sorted and without zeros, so
the order of tasks, the direction of the comparison and tasks without a difference change no bit of it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, gcd
from typing import Literal

import numpy as np
from numpy.typing import NDArray

type Method = Literal["sign_flip_mid_p", "sign_flip_exact", "sign_flip_resampled"]
type Floats = NDArray[np.float64]

EXACT_SUM = 1_000_000
EXACT_FLIPS = 10_000
RESAMPLES = 9_999
SEED = 20_240_601
TOLERANCE = 1e-12
"""Sums closer than this, relative to the sum of all magnitudes, differ by rounding only."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """`p` is what decides; `p_at_least` counts sums as extreme as the one seen in full, which mid-p counts half."""

    p: float
    p_at_least: float
    method: Method


def sign_flip_integers(differences: Sequence[int]) -> SignFlip:
    """Exact mid-p; above 10^6 for the sum of magnitudes, as for reals."""
    divisor = gcd(*differences)
    if divisor == 0:
        return SignFlip(1.0, 1.0, "sign_flip_mid_p")
    magnitudes = sorted(abs(difference) // divisor for difference in differences if difference)
    seen, most = abs(sum(differences)) // divisor, sum(magnitudes)
    if most > EXACT_SUM:
        return sign_flip_reals([difference / (divisor * most) for difference in differences])
    # the sum is <= -seen when those with a plus make at most (most - seen) / 2, and by symmetry >= seen as often
    pmf = _positive_sums(magnitudes, (most - seen) // 2)
    beyond, at = float(pmf[:-1].sum()), float(pmf[-1])
    if seen == 0:
        return SignFlip(1 - at / 2, 1.0, "sign_flip_mid_p")
    return SignFlip(2 * beyond + at, 2 * (beyond + at), "sign_flip_mid_p")


def sign_flip_reals(differences: Sequence[float]) -> SignFlip:
    """Exact while there are at most 10,000 sign patterns, else (b + 1) / (B + 1) over 9,999 of a fixed seed."""
    magnitudes = np.array(sorted(abs(difference) for difference in differences if difference))
    seen = abs(fsum(differences)) - TOLERANCE * float(magnitudes.sum())
    if 2 ** len(magnitudes) <= EXACT_FLIPS:
        p = float(np.mean(np.abs(_every_sum(magnitudes)) >= seen))
        return SignFlip(p, p, "sign_flip_exact")
    extreme = int(np.count_nonzero(np.abs(_random_sums(magnitudes)) >= seen))
    p = (extreme + 1) / (RESAMPLES + 1)
    return SignFlip(p, p, "sign_flip_resampled")


def _positive_sums(magnitudes: Sequence[int], most: int) -> Floats:
    """Probability that the magnitudes given a plus sign add up to 0, 1 ... most."""
    pmf = np.zeros(most + 1)
    pmf[0], reach = 1.0, 1
    for magnitude, count in sorted(Counter(magnitudes).items()):
        before, pmf = pmf[:reach], np.zeros(most + 1)
        for plus, chance in zip(range(0, most + 1, magnitude), _fair_coins(count), strict=False):
            end = min(plus + reach, most + 1)
            pmf[plus:end] += chance * before[: end - plus]
        reach = min(reach + magnitude * count, most + 1)
    return pmf


def _fair_coins(count: int) -> list[float]:
    """Binomial(count, 1/2) probabilities, each correctly rounded."""
    ways = accumulate(range(count), lambda row, heads: row * (count - heads) // (heads + 1), initial=1)
    return [way / 2**count for way in ways]


def _every_sum(magnitudes: Floats) -> Floats:
    sums = np.zeros(1)
    for magnitude in magnitudes:
        sums = np.concatenate((sums - magnitude, sums + magnitude))
    return sums


def _random_sums(magnitudes: Floats) -> Floats:
    """Signed sums under random signs: a random byte gives the signs of 8 tasks, whose 256 sums are tabled."""
    signs = 1 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    eights = np.concatenate((magnitudes, np.zeros(-len(magnitudes) % 8))).reshape(-1, 8)
    draws = np.random.default_rng(SEED).integers(256, size=(len(eights), RESAMPLES), dtype=np.uint8)
    sums = np.zeros(RESAMPLES)
    for table, bytes_drawn in zip(eights @ signs.T, draws, strict=True):
        sums += table[bytes_drawn]
    return sums
