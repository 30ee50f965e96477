import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.cli.platform.restarts import restart_delay


@pytest.mark.parametrize(
    ("lives", "delay"),
    [
        ([3600.0], 0.2),
        ([0.1], 0.2),
        ([0.1, 0.1], 0.5),
        ([0.1] * 5, 4.0),
        ([0.1] * 6, None),
        ([0.1] * 5 + [60.0], 0.2),
        ([0.1] * 5 + [60.0, 0.1, 0.1], 0.5),
    ],
)
def test_delay_after_lives(lives: list[float], delay: float | None) -> None:
    assert restart_delay(lives) == delay


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_a_long_life_always_earns_a_quick_restart(lives: list[float]) -> None:
    assert restart_delay([*lives, 10.0]) == 0.2
