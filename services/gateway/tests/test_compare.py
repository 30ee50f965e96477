"""Agents of different runs against one another."""

from typing import Any

import pytest

from proctor.contracts.manifest import Manifest
from proctor.gateway.comparison import compared
from proctor.gateway.readmodel.comparison import Side, Task
from proctor.gateway.routes.compare import paired
from proctor.service.errors import Invalid

RUNS = "/api/v1/runs"
COMMAND: dict[str, Any] = {
    "experiment_config": {"benchmark": "acme/tiny"},
    "agents": [{"harness": "command", "env": {"PROCTOR_COMMAND": "make"}}],
}


def test_the_tests_are_of_complete_tasks_and_the_worst_row_is_first() -> None:
    before = Side(
        {"run": "old"},
        2,
        {
            "a": Task(2, 2, cost=3.0, time=10.0),
            "b": Task(2, 0, cost=1.0, time=10.0),
            "c": Task(2, 1, cost=None, time=10.0),
            "part": Task(1, 0),
            "other content": Task(2, 0),
            "gone": Task(2, 2),
        },
    )
    after = Side(
        {"run": "new"},
        1,
        {
            "a": Task(1, 0, cost=1.0, time=40.0),
            "b": Task(1, 1, cost=0.5, time=10.0),
            "c": Task(1, 1, cost=1.0, time=40.0),
            "part": Task(0, 0),
            "other content": Task(1, 1),
            "new": Task(1, 1),
        },
    )
    found = compared(before, after, {"other content", "elsewhere"})
    assert found["tasks"] == {"common": 4, "complete": 3, "changed": 1, "baseline_only": 1, "other_only": 1}
    assert [(row["task"], row["difference"]) for row in found["rows"]] == [
        ("a", -1.0),
        ("c", 0.5),
        ("b", 1.0),
        ("part", None),
    ]
    rate = found["measures"]["pass_at_1"]
    assert (rate["baseline"], rate["other"]) == (pytest.approx(1 / 2), pytest.approx(2 / 3))
    assert rate["difference"] == pytest.approx(1 / 6)
    assert (rate["better"], rate["worse"], rate["equal"], rate["tasks"]) == (2, 1, 0, 3)
    # of the 8 sign flips of -1, 1, 1/2, four have a sum further from 0 than 1/2, and four the same: 1/2 + 1/4
    assert rate["p"] == pytest.approx(0.75)
    cost = found["measures"]["cost"]
    assert (cost["baseline"], cost["other"], cost["difference"], cost["tasks"]) == (2.0, 0.75, -1.25, 2)
    assert (cost["better"], cost["worse"]) == (2, 0)
    assert found["measures"]["time"]["ratio"] == pytest.approx(4.0)
    assert found["measures"]["tokens"] is None


def test_nothing_in_common_is_told_apart_from_no_difference() -> None:
    found = compared(Side({}, 1, {"a": Task(1, 1)}), Side({}, 1, {"b": Task(1, 1)}), set())
    assert (found["rows"], set(found["measures"].values())) == ([], {None})


@pytest.mark.parametrize(
    ("entrants", "agents", "expected"),
    [
        ([["x"], ["y"]], None, [((0, 0), (1, 0))]),
        ([["x", "y"], ["y", "z", "x"], ["z"]], None, [((0, 0), (1, 2)), ((0, 1), (1, 0))]),
        ([["x", "y"], ["x", "y"]], [1, 0], [((0, 1), (1, 0))]),
        ([["x", "y"], ["x", "y"], ["z"]], [0, 1, 0], [((0, 0), (1, 1)), ((0, 0), (2, 0))]),
        ([["x", "y"], ["z"]], None, "no entrant is in both runs"),
        ([["x"], ["y"]], [0], "must have 2"),
        ([["x"], ["y"]], [0, 1], "run 2 has no agent 1"),
    ],
)
def test_who_is_compared(entrants: list[list[str]], agents: list[int] | None, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(Invalid, match=expected):
            paired(entrants, agents)
    else:
        assert paired(entrants, agents) == expected


async def test_two_runs(gateway: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    runs: list[dict[str, Any]] = []
    for verdicts in ((True, True, False), (True, False, False)):
        run = (await gateway.client.post(RUNS, json=COMMAND)).json()
        await gateway.play(run["id"], manifest, verdicts)
        runs.append(await gateway.until(f"{RUNS}/{run['id']}", status="finished"))
    await gateway.until(f"{RUNS}/{runs[1]['id']}", status="finished", passed=1)
    first, second = runs
    path = "/api/v1/compare"
    answer = await gateway.client.get(path, params={"runs": f"{first['name']},{second['id']}"})
    assert answer.status_code == 200, answer.text
    (pair,) = answer.json()["pairs"]
    assert (pair["baseline"]["run_name"], pair["other"]["run"]) == (first["name"], second["id"])
    assert (pair["baseline"]["entrant"], pair["baseline"]["agent"]) == ("command", 0)
    assert pair["rows"][0] == {
        "task": "acme/count-lines",
        "difference": -1.0,
        "baseline": {"made": 1, "passed": 1, "cost": None, "time": 1.5, "tokens": None},
        "other": {"made": 1, "passed": 0, "cost": None, "time": 1.5, "tokens": None},
    }
    rate, time = pair["measures"]["pass_at_1"], pair["measures"]["time"]
    assert (rate["difference"], rate["worse"], rate["equal"]) == (pytest.approx(-1 / 3), 1, 2)
    assert (time["difference"], pair["measures"]["cost"]) == (0.0, None)
    same = await gateway.client.get(path, params={"runs": f"{first['id']},{first['id']}", "agents": "0,0"})
    assert same.json()["pairs"][0]["measures"]["pass_at_1"]["difference"] == 0

    for params, status, text in (
        ({"runs": first["id"]}, 400, "2 to 8"),
        ({"runs": f"{first['id']},none"}, 404, "no run 'none'"),
        ({"runs": f"{first['id']},{second['id']}", "agents": "0,7"}, 400, "no agent 7"),
        ({"runs": f"{first['id']},{second['id']}", "agents": "x"}, 400, "agents"),
        ({}, 400, "runs"),
    ):
        refused = await gateway.client.get(path, params=params)
        assert (refused.status_code, text in refused.json()["detail"]) == (status, True), refused.text
