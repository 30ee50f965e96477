"""How often a program that dies is started again: quickly at first, then slower, then not at all."""

from collections.abc import Sequence
from typing import Final

QUICK_SECONDS: Final = 10.0
"""A life shorter than this is a quick death."""

DELAYS: Final = (0.2, 0.5, 1.0, 2.0, 4.0)


def restart_delay(lives: Sequence[float]) -> float | None:
    """Seconds to wait after lives of these lengths, the newest last; None gives up. One long life forgives all."""
    quick = 0
    for life in reversed(lives):
        if life >= QUICK_SECONDS:
            break
        quick += 1
    if quick > len(DELAYS):
        return None
    return DELAYS[max(quick, 1) - 1]
