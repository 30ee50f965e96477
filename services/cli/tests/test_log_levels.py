import pytest

from proctor.cli.commands.logs import LogLevel, reaches

LEVELS = ["debug", "info", "warning", "error"]


@pytest.mark.parametrize(
    ("least", "shown"),
    [
        (None, LEVELS),
        (LogLevel.DEBUG, LEVELS),
        (LogLevel.WARNING, ["warning", "error"]),
        (LogLevel.ERROR, ["error"]),
    ],
)
def test_a_level_is_that_level_and_above(least: LogLevel | None, shown: list[str]) -> None:
    assert [level for level in LEVELS if reaches(level, least)] == shown
