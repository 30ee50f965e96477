import io
from typing import Any

import pytest
from rich.console import Console

from proctor.cli.display.board import board_k, board_notes, board_rows, board_table


def rate(value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"value": value, "ci_low": low, "ci_high": high, "n": 15, "method": "wilson", "provisional": False, **more}


def entry(entrant: str, metrics: dict[str, Any]) -> dict[str, Any]:
    return {"entrant": entrant, "run": "r1", "run_name": "brave-otter", "metrics": metrics}


@pytest.fixture
def board() -> dict[str, Any]:
    rows = [
        entry(
            "codex / gpt",
            {
                "pass_at_1": rate(0.8, 0.6, 0.9),
                "pass_at_k": [{"k": 1, **rate(0.8, 0.6, 0.9)}, {"k": 2, **rate(0.875, 0.7, 0.95)}],
                "time_per_task": {"value": 72.0},
                "cost_per_task": {"value": 0.0312},
            },
        ),
        entry("oracle", {"pass_at_1": rate(0.75, 0.5, 0.88), "pass_at_k": [], "time_per_task": {"value": 1.5}}),
        entry("nop", {"pass_at_1": rate(0.0, 0.0, 0.2, provisional=True), "pass_at_k": None}),
    ]
    standings = [
        {"entrant": "codex / gpt", "rank": 1, "tied": True},
        {"entrant": "oracle", "rank": 1, "tied": True},
        {"entrant": "nop", "rank": 3, "tied": False},
    ]
    return {
        "rows": list(reversed(rows)),
        "ranks": {"pass_at_1": {"standings": standings}, "pass_at_k": {"k": 2, "standings": []}},
        "ineligible": [
            {"entrant": "slow", "run": "r2", "run_name": "calm-fox", "rules": ["task_subset", "missing_results"]}
        ],
    }


def drawn(board: dict[str, Any]) -> str:
    file = io.StringIO()
    console = Console(file=file, width=120)
    console.print(board_table(board))
    return file.getvalue()


def test_rows_stand_in_the_order_of_the_ranking(board: dict[str, Any]) -> None:
    first, second, third = board_rows(board)
    assert first == ("=1", "codex / gpt", "80.0%", "60.0 to 90.0", "87.5%", "$0.031", "72.0 s", "-", "brave-otter")
    assert second[:5] == ("=1", "oracle", "75.0%", "50.0 to 88.0", "-")
    assert third[:4] == ("3", "nop", "0.0%*", "0.0 to 20.0")


def test_the_table_has_a_column_only_for_what_is_known(board: dict[str, Any]) -> None:
    text = drawn(board)
    assert "Pass@2" in text
    assert "Cost/task" in text
    assert "Tokens/task" not in text
    assert text.index("codex / gpt") < text.index("oracle") < text.index("nop")


def test_without_repeated_attempts_there_is_no_pass_at_k(board: dict[str, Any]) -> None:
    board["ranks"]["pass_at_k"] = {"k": None}
    assert board_k(board) is None
    assert "Pass@2" not in drawn(board)


def test_notes_explain_ties_and_what_is_missing(board: dict[str, Any]) -> None:
    assert list(board_notes(board)) == [
        "= tied: the statistics can't tell it from the best",
        "* provisional: attempts without a result",
        "not ranked: slow in calm-fox: ran only some of the tasks",
    ]


def test_a_tie_that_no_result_could_have_broken_says_so(board: dict[str, Any]) -> None:
    tied = board["ranks"]["pass_at_1"]["standings"][1]
    tied["comparison"] = {"tasks": 3, "too_few_tasks": True}
    assert next(board_notes(board)) == "= tied: too few tasks to separate them (3)"
    tied["comparison"]["too_few_tasks"] = False
    assert next(board_notes(board)) == "= tied: the statistics can't tell it from the best"


@pytest.mark.parametrize("empty", [{}, {"rows": [], "ranks": {}, "ineligible": []}, {"rows": None, "ranks": None}])
def test_an_empty_board_is_a_table_without_rows(empty: dict[str, Any]) -> None:
    assert board_rows(empty) == []
    assert "Entrant" in drawn(empty)


def test_names_are_shown_as_they_are(board: dict[str, Any]) -> None:
    board["rows"][2]["entrant"] = board["ranks"]["pass_at_1"]["standings"][0]["entrant"] = "x [red]y[/red] / z"
    assert "x [red]y[/red] / z" in drawn(board)
