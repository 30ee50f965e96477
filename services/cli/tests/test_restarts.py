import signal
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.cli.platform.restarts import Deaths

type Life = tuple[float, int | None, bool]
"""Its length in seconds, its exit code, whether it was ready."""

KILLED: Life = (2.0, -signal.SIGKILL, True)
KILLED_EARLY: Life = (0.3, -signal.SIGKILL, False)
FAILED: Life = (0.3, 1, False)
lives_of_any_kind = st.tuples(st.floats(0, 59), st.sampled_from([0, 1, 2, 70, -9, -15, None]), st.booleans())


def after(lives: Sequence[Life]) -> Deaths:
    deaths = Deaths()
    for life, code, was_ready in lives:
        deaths = deaths.and_one(life, code, was_ready=was_ready)
    return deaths


def test_restarts_slow_down_to_half_a_minute_and_never_end() -> None:
    delays = [after([KILLED] * times).delay for times in range(1, 1000)]
    assert delays == sorted(delays)
    assert (delays[0], delays[-1]) == (0.2, 30.0)
    assert not after([KILLED] * 1000).hopeless


@pytest.mark.parametrize(
    ("lives", "hopeless"),
    [
        ([FAILED] * 9, False),
        ([FAILED] * 10, True),
        ([KILLED_EARLY] * 100, False),
        ([*[FAILED] * 9, KILLED_EARLY, *[FAILED] * 9], False),
        ([KILLED, *[FAILED] * 100], False),
        ([(0.3, 0, False)] * 100, False),
        ([(0.3, 2, False)], True),
        ([(0.0, None, False)], True),
        ([KILLED, (0.0, None, False)], False),
    ],
)
def test_only_what_fails_at_its_start_and_was_never_ready_is_given_up(lives: list[Life], *, hopeless: bool) -> None:
    assert after(lives).hopeless is hopeless


@given(st.lists(lives_of_any_kind, max_size=30))
def test_a_minute_of_life_always_earns_a_quick_restart(lives: list[Life]) -> None:
    assert after([*lives, (60.0, 1, True)]).delay == 0.2


@given(st.lists(lives_of_any_kind, max_size=30))
def test_what_was_ready_once_is_never_given_up(lives: list[Life]) -> None:
    assert not after([KILLED, *lives]).hopeless
