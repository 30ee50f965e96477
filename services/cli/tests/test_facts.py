"""What a run was and a benchmark is, for people."""

import io
from typing import Any

import pytest
from rich.console import Console

from proctor.cli.display.benchmark import benchmark_facts
from proctor.cli.display.facts import make_facts
from proctor.cli.display.run import agents_notes, agents_table, run_facts

PENDING: dict[str, Any] = {
    "id": "r1",
    "benchmark_key": "acme/tiny",
    "version": "sha256:0123456789abcdef",
    "submitted_at": None,
    "started_at": None,
    "ended_at": None,
}
SPENT: dict[str, Any] = {
    "tasks": 89,
    "task_set": "full",
    "attempts_per_task": 3,
    "cost_usd": 1.2,
    "sandbox_cost_usd": 0.034,
    "rates": {"hour": 0.1, "cpu_hour": 0, "gibibyte_hour": 0},
    "sandbox_seconds": 245,
    "cpu_seconds": None,
    "memory_peak_bytes": 3 * 2**20,
    "input_tokens": 12_345,
    "cached_tokens": 0,
    "output_tokens": None,
    "budget": {"usd": 5, "attempts": None, "month_usd": None, "month_attempts": 400},
    "dispatches": 1,
    "budget_reached": {"scope": "month", "unit": "attempts", "limit": 400.0, "used": 401.0},
    "stop_requested": True,
    "stop_reason": None,
    "rerun_of": "r0",
    "reused_from": "r0",
    "reused": 12,
    "tags": ["a", "b"],
    "note": "two\nlines",
}


def known(run: dict[str, Any]) -> dict[str, str]:
    return {label: text for label, text in run_facts(run, {"r0": "calm-otter"}) if text}


def test_what_a_run_used_by_what_is_known() -> None:
    assert known(PENDING) == {"id": "r1", "benchmark": "acme/tiny", "version": "sha256:0123456789ab", "submitted": "-"}
    assert known(PENDING | SPENT) == {
        **known(PENDING),
        "tasks": "89 (full), 3 attempts each",
        "stop": "asked for",
        "cost": "$1.20 for models, $0.034 for sandboxes",
        "sandboxes": "4m 05s, 3 MiB at most",
        "tokens": "12.3k in, 0 of them cached",
        "budget": "$5.00 for the run, 400 attempts in the month; used $1.23, 1 attempt",
        "reached": "the month's budget: 401 of 400 attempts",
        "reruns": "calm-otter",
        "reused": "12 results of calm-otter",
        "tags": "a, b",
        "note": "two lines",
    }


@pytest.mark.parametrize(("rates", "priced"), [({"hour": 0}, False), (None, False), ({"hour": 0, "cpu_hour": 1}, True)])
def test_sandboxes_without_a_price_cost_nothing_that_is_worth_a_word(rates: Any, priced: bool) -> None:
    run = PENDING | {"rates": rates, "sandbox_cost_usd": 0.0}
    assert ("cost" in known(run)) is priced
    agent = {"agent": 0, "entrant": "oracle", "status": "finished", "expected": 1, "passed": 1, "errored": 0}
    table = agents_table(run | {"agent_results": [agent | {"sandbox_cost_usd": 0.0}]})
    assert table is not None
    assert ("Sandboxes" in table.columns) is priced


def test_a_run_that_is_no_longer_known_is_named_by_its_id() -> None:
    assert dict(run_facts(PENDING | {"rerun_of": "r9"}, {}))["reruns"] == "r9"


@pytest.mark.parametrize(
    ("budget", "used", "text"),
    [
        (
            {"usd": 0.1, "attempts": 80, "month_usd": 500, "month_attempts": None},
            {"cost_usd": None, "sandbox_cost_usd": None, "dispatches": 5},
            "$0.10 and 80 attempts for the run, $500.00 in the month; used 5 attempts",
        ),
        ({"attempts": 1}, {"sandbox_cost_usd": 0.0, "rates": {"hour": 0}}, "1 attempt for the run"),
        ({"usd": None}, {"dispatches": 5}, ""),
    ],
)
def test_a_budget_says_what_it_is_for(budget: dict[str, Any], used: dict[str, Any], text: str) -> None:
    assert known(PENDING | used | {"budget": budget}).get("budget", "") == text


def test_what_was_cancelled_is_not_done_and_a_mark_has_a_legend() -> None:
    agent = {"agent": 0, "entrant": "nop", "status": "stopped", "expected": 80, "passed": 1, "failed": 3, "errored": 0}
    rate = {"pass_at_1": {"value": 0.25, "provisional": True}}
    run = PENDING | {"agent_results": [agent | {"cancelled": 76, "metrics": rate}]}
    table = agents_table(run)
    assert table is not None
    cells = dict(zip(table.columns, map(str, table.rows[0]), strict=True))
    assert (cells["Done"], cells["Cancelled"], cells["Pass@1"]) == ("4/80", "76", "25.0%*")
    assert list(agents_notes(run)) == ["* provisional: attempts without a result"]
    assert list(agents_notes(PENDING | {"agent_results": [agent]})) == []


def test_a_benchmark_says_what_its_tasks_need() -> None:
    benchmark = {"key": "k", "status": "ready", "managed": False, "source": {"kind": "upload", "origin": "./k"}}
    tasks = [
        {"needed_variables": ["API_KEY"], "verifier_mode": "separate", "steps": 1},
        {"needed_variables": ["API_KEY", "B"], "verifier_mode": "shared", "steps": 3},
    ]
    sets = [{"name": "parity", "task_count": 1, "recommended": True, "description": None}]
    facts = list(
        benchmark_facts({**benchmark, "task_count": 2, "unavailable_count": 1}, {"tasks": tasks, "task_sets": sets})
    )
    assert [fact for fact in facts if fact[0] in {"source", "tasks", "task set", "needs"}] == [
        ("source", "upload, ./k"),
        ("tasks", "2 tasks, 1 can't be used"),
        ("task set", "parity (1 task, recommended)"),
        ("needs", "variable API_KEY (2 tasks)"),
        ("needs", "variable B (1 task)"),
        ("needs", "a sandbox of its own for the verifier (1 task)"),
        ("needs", "several steps (1 task)"),
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (None, ""),
        ({"kind": "key"}, "needs judge_api_key_secret; its model is the benchmark's"),
        ({"kind": "model", "default_model": None}, "needs judge_api_key_secret and judge_model"),
        ({"kind": "model", "default_model": "m"}, "needs judge_api_key_secret and judge_model (else m)"),
    ],
)
def test_a_benchmark_says_what_its_judge_needs(rule: Any, said: str) -> None:
    facts = dict(benchmark_facts({"key": "k", "status": "pending", "judge": rule}, {}))
    assert facts["judge"] == said


@pytest.mark.parametrize(
    ("terminal", "lines"),
    [(False, ["a        " + "x" * 30, "longer   [bold]y"]), (True, ["a        " + "x" * 11])],
)
def test_facts_are_whole_lines_but_folded_in_a_terminal(terminal: bool, lines: list[str]) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=20, color_system=None)
    console.print(make_facts([("a", "x" * 30), ("none", ""), ("longer ", "[bold]y")]), crop=False)
    shown = [line.rstrip() for line in out.getvalue().splitlines()]
    assert shown[: len(lines)] == lines
    assert all(len(line) <= 20 for line in shown) is terminal
    assert "".join(shown).count("x") == 30
