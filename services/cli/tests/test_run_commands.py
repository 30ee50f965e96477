"""Commands about runs, against a server that answers from a table."""

from collections.abc import Callable
from typing import Any

import pytest

type Proctor = Callable[..., Any]
type Serve = Callable[[dict[str, tuple[int, Any]]], str]

API = "GET /api/v1/"


def agent(number: int, entrant: str, **more: Any) -> dict[str, Any]:
    counts = {"expected": 2, "passed": 1, "failed": 1, "errored": 0, "cancelled": 0, "status": "finished"}
    return {"agent": number, "entrant": entrant, "harness": entrant, "name": None, **counts, **more}


def run(name: str, *entrants: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{name}",
        "name": name,
        "benchmark_key": "acme/tiny",
        "status": "finished",
        "expected": 2,
        "passed": 1,
        "failed": 1,
        "reused": 0,
        "submitted_by": "u1",
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "agent_results": [agent(number, entrant) for number, entrant in enumerate(entrants)],
        **more,
    }


def page(*items: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"items": items, "next_cursor": None}


@pytest.fixture
def served(http_server: Serve, proctor: Proctor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A command against a table of answers to GET."""

    def ask(table: dict[str, tuple[int, Any]], *words: str) -> Any:
        monkeypatch.setenv("PROCTOR_URL", http_server({f"{API}{path}": answer for path, answer in table.items()}))
        return proctor(*words, token="x")

    return ask


def result(attempt: str, *origin: str) -> dict[str, Any]:
    run, original = origin or (None, None)
    return {"attempt": attempt, "counts": True, "reused_run": run, "reused_attempt": original}


SIDE = {"run_name": "x", "entrant": "nop"}
TASKS = {"common": 0, "complete": 0, "changed": 0, "baseline_only": 0, "other_only": 0}


def test_a_comparison_counts_what_both_share_and_names_who_is_left(served: Any) -> None:
    first, second = run("a", "nop", "slow"), run("b", "nop", reused=2)
    sides = {
        "baseline": {**SIDE, "run": "id-a", "agent": 0},
        "other": {**SIDE, "run": "id-b", "agent": 0},
    }
    row = {"task": "t", "difference": 0.0, "baseline": {"made": 3}, "other": {"made": 3}}
    table = {
        "runs/a": (200, first),
        "runs/b": (200, second),
        "compare?runs=id-a%2Cid-b": (200, {"pairs": [{**sides, "tasks": TASKS, "measures": {}, "rows": [row]}]}),
        "runs/id-a/results?limit=200&agent=0": page(result("a1"), result("a2", "id-z", "z2"), result("a3")),
        "runs/id-b/results?limit=200&agent=0": page(
            result("b1", "id-a", "a1"), result("b2", "id-z", "z2"), result("b3")
        ),
    }
    said = served(table, "run", "compare", "a", "b").out.splitlines()
    assert "3 results in the other; 2 of them are the same results, taken over" in said
    assert said[-1] == "not compared, no partner: slow of a"


def test_runs_without_a_common_agent_ask_for_one_of_each_by_name(served: Any) -> None:
    table: dict[str, tuple[int, Any]] = {
        "runs/a": (200, run("a", "nop")),
        "runs/b": (200, run("b", "slow", "fast")),
        "compare?runs=id-a%2Cid-b": (400, {"detail": "agents: no entrant is in both runs", "code": "VALIDATION"}),
        "compare?runs=id-a%2Cid-b&agents=0%2C1": (200, {"pairs": []}),
    }
    done = served(table, "run", "compare", "a", "b")
    assert (done.code, done.err.splitlines()) == (
        2,
        [
            "proctor: no agent is in both runs: name one of each with --agent, in their order",
            "  a: nop",
            "  b: slow, fast",
        ],
    )
    assert served(table, "run", "compare", "a", "b", "--agent", "nop", "--agent", "fast").code == 0


def test_who_submitted_is_told_where_several_did(served: Any) -> None:
    runs = [run("a"), run("b", submitted_by="u2", cancelled=1, passed=0)]
    table = {
        "runs?limit=31": page(*runs),
        "whoami": (200, {"user": {"id": "u1", "email": "ada@example.org"}, "workspace": {"name": "lab"}}),
        "workspaces/lab/members?limit=200": page({"id": "u2", "email": "bob@example.org"}),
    }
    lines = [line.split() for line in served(table, "run", "list").out.splitlines()]
    assert lines[0] == ["Run", "Benchmark", "Status", "Done", "Cancelled", "Duration", "Submitted", "By"]
    assert [(line[3], line[4], line[-1]) for line in lines if line[:1] in (["a"], ["b"])] == [
        ("2/2", "-", "ada@example.org"),
        ("1/2", "1", "bob@example.org"),
    ]
    assert "u2" in served({**table, "workspaces/lab/members?limit=200": (403, {})}, "run", "list").out
    assert "By" not in served({"runs?limit=31": page(runs[0])}, "run", "list").out


@pytest.mark.parametrize(("options", "refused"), [((), True), (("--attempts", "3"), False), (("--agent", "0"), True)])
def test_a_rerun_of_what_errored_needs_something_that_did(served: Any, options: tuple[str, ...], refused: bool) -> None:
    done = served({"runs/a": (200, run("a", "nop"))}, "run", "rerun", "a", "--errored", *options)
    assert (done.code == 1) is refused
    assert (done.err == "proctor: nothing errored in a; --attempts N or no option measures again\n") is refused


@pytest.mark.parametrize(("status", "said"), [("finished", "no such result\n"), ("running", "no such result yet\n")])
def test_only_a_run_that_goes_on_may_have_results_yet(served: Any, status: str, said: str) -> None:
    table = {"runs/a": (200, run("a", status=status)), "runs/a/results?limit=200&outcome=errored": page()}
    assert served(table, "run", "results", "a", "--outcome", "errored").out == said


def test_a_benchmark_list_tells_of_tasks_that_cannot_be_used(served: Any) -> None:
    one = {"key": "k", "name": "K", "managed": True, "status": "ready", "task_count": 2}
    lines = served(
        {"benchmarks?limit=200": page({**one, "unavailable_count": 3})}, "benchmark", "list"
    ).out.splitlines()
    assert (lines[0].split()[3:5], lines[2].split()[3:5]) == (["Tasks", "Unusable"], ["2", "3"])
    assert (
        "Unusable"
        not in served({"benchmarks?limit=200": page({**one, "unavailable_count": 0})}, "benchmark", "list").out
    )


@pytest.mark.parametrize(
    ("version", "unavailable", "said"),
    [
        ("v1", [], "k is unchanged: 2 tasks, version v1"),
        ("v2", [{"name": "t", "reason": "broken"}], "k is ready: 2 tasks, 1 unusable, version v2"),
    ],
)
def test_a_sync_says_what_it_changed(
    version: str,
    unavailable: list[dict[str, str]],
    said: str,
    http_server: Serve,
    proctor: Proctor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = {"id": "b1", "key": "k", "status": "ready", "task_count": 2, "sync_total": 2, "sync_done": 2}
    table = {
        f"{API}benchmarks?key=k": (200, {"items": [{**one, "version": "v1"}]}),
        "POST /api/v1/benchmarks/b1/sync": (202, {**one, "status": "syncing", "version": "v1"}),
        f"{API}benchmarks/b1": (200, {**one, "version": version}),
        f"{API}benchmarks/b1/tasks": (200, {"tasks": [], "unavailable": unavailable}),
    }
    monkeypatch.setenv("PROCTOR_URL", http_server(table))
    assert proctor("benchmark", "sync", "k", token="x").out == f"{said}\n"
