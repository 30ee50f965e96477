import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from proctor.cli.display.figures import age, count, dollars, interval, percent, seconds
from proctor.cli.display.progress import BarView, LineView, status_line
from proctor.cli.display.results import results_grid


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (percent, None, "-"),
        (percent, 0.0, "0.0%"),
        (percent, 0.9999, "100.0%"),
        (interval, {"ci_low": None, "ci_high": None}, "-"),
        (interval, {"ci_low": 0.719, "ci_high": 0.781}, "71.9 to 78.1"),
        (seconds, None, "-"),
        (seconds, 0.0, "0.00 s"),
        (seconds, 99.96, "1m 40s"),
        (seconds, 245, "4m 05s"),
        (seconds, 3_599.7, "1h 00m"),
        (seconds, 7_620, "2h 07m"),
        (dollars, None, "-"),
        (dollars, 0, "$0.00"),
        (dollars, 0.00042, "$0.00042"),
        (dollars, 12.345, "$12.35"),
        (count, None, "-"),
        (count, 0, "0"),
        (count, 12_345, "12.3k"),
        (count, 999_960, "1.0M"),
    ],
)
def test_figures(function: Any, value: Any, text: str) -> None:
    assert function(value) == text


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (None, "-"),
        ("2026-03-01T11:59:59Z", "1s ago"),
        ("2026-03-01T10:30:00+00:00", "1h ago"),
        ("2026-02-26T12:00:00Z", "3d ago"),
        ("2026-03-01T12:00:05Z", "0s ago"),
    ],
)
def test_age(then: str | None, text: str) -> None:
    assert age(then, datetime(2026, 3, 1, 12, tzinfo=UTC)) == text


def result(task: int, agent: int, number: int, outcome: str | None) -> dict[str, Any]:
    return {"task": task, "task_name": f"t{task}", "agent": agent, "number": number, "outcome": outcome}


def test_results_by_task_and_agent_in_the_order_of_attempts() -> None:
    grid = results_grid(
        [
            result(1, 0, 1, "errored"),
            result(0, 1, 2, "failed"),
            result(0, 1, 1, "passed"),
            result(0, 0, 1, None),
            result(1, 1, 1, "cancelled"),
        ]
    )
    assert grid == {"t0": {0: ".", 1: "PF"}, "t1": {0: "E", 1: "C"}}
    assert list(grid) == ["t0", "t1"]


def run(status: str, passed: int = 0, **more: Any) -> dict[str, Any]:
    counts = {"passed": passed, "failed": 0, "errored": 0, "cancelled": 0}
    return {"name": "brave-otter", "status": status, "expected": 30, "waiting": None, **counts, **more}


def test_status_line_says_what_it_waits_for_and_what_became_of_it() -> None:
    assert status_line(run("queued", waiting="no runner in pool gpu")) == (
        "brave-otter: queued, 0/30 done; waiting: no runner in pool gpu"
    )
    assert status_line(run("finished", 28, failed=1, errored=1)) == (
        "brave-otter: finished, 30/30 done: 28 passed, 1 failed, 1 errored"
    )
    stopped = run("stopped", 3, failed=1, cancelled=76, expected=80)
    assert status_line(stopped) == "brave-otter: stopped, 4/80 done, 76 cancelled: 3 passed, 1 failed"
    paused = run("running", 3, paused="lunch")
    assert status_line(paused) == "brave-otter: running, paused: lunch, 3/30 done: 3 passed"
    assert status_line(run("running", paused="")) == "brave-otter: running, paused, 0/30 done"
    failed = run("failed", failure_message="no capacity for 24 h", expected=0)
    assert status_line(failed) == "brave-otter: failed; no capacity for 24 h"


def test_plain_progress_says_each_status_once_and_leaves_the_end_to_its_caller() -> None:
    file = io.StringIO()
    console = Console(file=file, width=40)
    with LineView(console) as view:
        for state in [run("pending"), run("pending"), run("running"), run("running", 1), run("running", 2)]:
            view.show(state)
        view.show(run("finished", 30))
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "brave-otter: pending",
        "brave-otter: running",
    ]


def test_a_terminal_shows_frames_of_a_run_that_goes_on_and_none_of_one_that_is_over() -> None:
    def frames(*states: dict[str, Any]) -> str:
        console = Console(file=(file := io.StringIO()), width=100, force_terminal=True, color_system=None)
        with BarView(console) as view:
            for state in states:
                view.show(state)
        return file.getvalue()

    assert frames(run("stopped", 30)) == ""
    lines = [line for line in frames(run("running", 4)).split("\r") if "/" in line]
    assert lines
    assert all("brave-otter" in line for line in lines)
    assert "4/30" in lines[-1]
