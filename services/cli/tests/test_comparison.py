"""Two runs beside one another, and agents from files."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from proctor.cli.commands.rerun import agents_of, whole
from proctor.cli.display.comparison import alone, comparison
from proctor.cli.failure import Failure

NONE: dict[str, Any] = {"cost": None, "time": None}
PAIR: dict[str, Any] = {
    "baseline": {"run_name": "calm-otter", "entrant": "command"},
    "other": {"run_name": "brave-wren", "entrant": "command"},
    "tasks": {"common": 3, "complete": 2, "changed": 1, "baseline_only": 0, "other_only": 2},
    "measures": {
        "pass_at_1": {
            "baseline": 0.75,
            "other": 0.25,
            "difference": -0.5,
            "low": -0.9,
            "high": 0.125,
            "p": 0.25,
            "tasks": 2,
        },
        "cost": None,
        "time": {"baseline": 2.0, "other": 1.5, "difference": -0.5, "low": None, "high": None, "p": 0.5, "tasks": 2},
        "tokens": None,
    },
    "rows": [
        {
            "task": "a",
            "difference": -1.0,
            "baseline": {"passed": 2, "made": 2, "cost": 0.25, "time": 2.0},
            "other": {"passed": 0, "made": 2, "cost": 1.0, "time": 1.5},
        },
        {
            "task": "b",
            "difference": 0.0,
            "baseline": {"passed": 1, "made": 2, **NONE},
            "other": {"passed": 1, "made": 2, **NONE},
        },
        {
            "task": "c",
            "difference": None,
            "baseline": {"passed": 0, "made": 0, **NONE},
            "other": {"passed": 1, "made": 2, **NONE},
        },
    ],
}


def shown(pair: dict[str, Any], *, every: bool, same: int = 0) -> str:
    console = Console(width=200, record=True, file=StringIO())
    for piece in comparison(pair, every=every, same=same):
        console.print(piece)
    return "\n".join(" ".join(line.split()) for line in console.export_text().splitlines())


def test_the_whole_comes_first_and_then_what_differs() -> None:
    text = shown(PAIR, every=False)
    assert text.startswith(
        "brave-wren (command) against calm-otter (command)\n"
        "3 tasks in both; 2 of them with every result, which the figures are of; 1 left out, their content changed; "
        "2 in the other alone\n"
    )
    assert "Pass@1 75.0% 25.0% -50.0% -90.0% to +12.5% 0.250 2" in text
    assert "Time/task 2.00 s 1.50 s -0.50 s - 0.500 2" in text
    assert "Cost/task" not in text
    assert "a -100.0% 2/2 0/2 2.00 s -> 1.50 s $0.25 -> $1.00" in text
    assert "b +0.0%" not in text
    assert "c - 0/0 1/2" not in text


def test_every_task_where_it_is_wanted() -> None:
    text = shown(PAIR, every=True)
    assert "b +0.0% 1/2 1/2 - -" in text
    assert "c - 0/0 1/2 - -" in text
    assert "no task's pass rate differs" in shown({**PAIR, "rows": PAIR["rows"][1:]}, every=False)


def test_results_that_both_share_are_told() -> None:
    assert "6 results in the other; 4 of them are the same results, taken over\n" in shown(PAIR, every=False, same=4)
    assert "same results" not in shown(PAIR, every=False)


def test_agents_without_a_partner_are_named_in_one_line() -> None:
    runs = [
        {"id": run, "name": name, "agent_results": [{"agent": n, "entrant": one} for n, one in enumerate(entrants)]}
        for run, name, entrants in (("r1", "calm-otter", ["nop", "oracle"]), ("r2", "brave-wren", ["slow", "nop"]))
    ]
    pair = {"baseline": {"run": "r1", "agent": 0}, "other": {"run": "r2", "agent": 1}}
    assert list(alone(runs, [pair])) == ["not compared, no partner: oracle of calm-otter, slow of brave-wren"]
    assert list(alone(runs, [pair, {"baseline": {"run": "r1", "agent": 1}, "other": {"run": "r2", "agent": 0}}])) == []


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"expected": 3, "passed": 1, "failed": 2}, True),
        ({"expected": 3, "passed": 1, "failed": 1, "errored": 1}, False),
        ({"expected": 3, "passed": 1, "failed": 1, "cancelled": 1}, False),
        ({"expected": 0, "passed": 0, "failed": 0}, False),
    ],
)
def test_a_run_is_whole_when_every_attempt_has_a_result_that_counts(counts: dict[str, int], expected: bool) -> None:
    assert whole([counts]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('harness = "nop"\n', [{"harness": "nop"}]),
        ('[[agents]]\nharness = "nop"\n[[agents]]\nharness = "oracle"\n', [{"harness": "nop"}, {"harness": "oracle"}]),
        ('[agents]\nharness = "nop"\n', "write each under"),
        ("harness = nop\n", "agent.toml: "),
    ],
)
def test_agents_come_from_a_table_or_from_a_run(tmp_path: Path, text: str, expected: Any) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    if isinstance(expected, str):
        with pytest.raises(Failure, match=expected):
            agents_of(file)
    else:
        assert agents_of(file) == expected
