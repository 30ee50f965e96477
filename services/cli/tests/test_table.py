import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from proctor.cli.display.table import FittedTable, make_table

COLUMNS = ["Rank", "Entrant", "Pass@1", "Time/task", "Run"]
ROWS = [["1", "codex / gpt-5-a-long-name", "100.0%", "12.3 s", "eager-moss"], ["2", "nop", "0.0%", "0.42 s", "calm"]]


def table() -> FittedTable:
    return make_table(
        COLUMNS, ROWS, right=["Rank", "Pass@1", "Time/task"], dispensable=["Run", "Time/task"], name="Entrant"
    )


def drawn(width: int, *, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    console.print(table(), crop=False)
    return file.getvalue().splitlines()


def test_with_room_everything_is_there() -> None:
    text = "\n".join(drawn(100))
    assert all(cell in text for row in [COLUMNS, *ROWS] for cell in row)
    assert "no room" not in text


@pytest.mark.parametrize(
    ("width", "gone", "there"),
    [(48, ["eager-moss"], ["12.3 s", "100.0%"]), (34, ["eager-moss", "12.3 s"], ["100.0%", "0.0%", "nop"])],
)
def test_the_least_important_columns_go_first_and_are_named(width: int, gone: list[str], there: list[str]) -> None:
    lines = drawn(width)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    assert all(cell not in text for cell in gone)
    assert all(cell in text for cell in there)
    assert "no room for Run" in text


def test_where_nothing_fits_each_row_is_a_block() -> None:
    lines = drawn(20)
    assert "Pass@1     100.0%" in lines
    assert "Run        calm" in lines


@given(st.integers(16, 120))
def test_no_width_cuts_a_pass_rate(width: int) -> None:
    words = " ".join(drawn(width)).split()
    assert {"100.0%", "0.0%"} <= set(words)


def test_away_from_a_terminal_the_width_does_not_matter() -> None:
    assert any("100.0%" in line and "12.3 s" in line and "eager-moss" in line for line in drawn(20, terminal=False))


def test_a_column_that_may_be_folded_may_be_left_out_before_another() -> None:
    console = Console(file=(file := io.StringIO()), width=20, force_terminal=True, color_system=None)
    console.print(
        make_table(["By", "Target", "Detail"], [["ada", "token-1", "x" * 40]], dispensable=["Detail"], name="Detail")
    )
    assert "no room for Detail" in file.getvalue()
    assert "token-1" in file.getvalue()
