"""Notes, tags and the archive of runs."""

from typing import Any

import pytest

from proctor.contracts.manifest import Manifest
from proctor.gateway.folds import run_head
from proctor.gateway.readmodel.shapes import run_from_log

RUNS = "/api/v1/runs"
ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}
UNMARKED: dict[str, Any] = {"note": None, "tags": [], "archived": False}


@pytest.fixture
async def runs(gateway: Any, projection: None, manifest: Manifest) -> list[str]:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    return [(await gateway.client.post(RUNS, json=ORACLE)).json()["id"] for _ in range(3)]


async def mark(gateway: Any, run: str, **marks: Any) -> dict[str, Any]:
    answer = await gateway.client.patch(f"{RUNS}/{run}", json=marks)
    assert answer.status_code == 200, answer.text
    one = (await gateway.client.get(f"{RUNS}/{run}")).json()
    found = {key: one[key] for key in UNMARKED}
    assert found == {key: answer.json()[key] for key in UNMARKED}
    return found


async def listed(gateway: Any, query: str = "") -> list[str]:
    return [run["id"] for run in (await gateway.client.get(f"{RUNS}?{query}")).json()["items"]]


async def test_what_is_not_named_stays(gateway: Any, runs: list[str]) -> None:
    first, second, third = runs
    assert await mark(gateway, first) == UNMARKED
    assert await mark(gateway, first, note="  the baseline\nof March ") == {
        **UNMARKED,
        "note": "the baseline\nof March",
    }
    assert (await mark(gateway, first, tags=["nightly", "v1.0", "nightly"]))["tags"] == ["nightly", "v1.0"]
    all_set = {"note": "the baseline\nof March", "tags": ["nightly", "v1.0"], "archived": True}
    assert await mark(gateway, first, archived=True) == all_set
    assert await mark(gateway, second, tags=["nightly"]) == {**UNMARKED, "tags": ["nightly"]}

    assert await listed(gateway) == [third, second]
    assert await listed(gateway, "archived=only") == [first]
    assert await listed(gateway, "archived=with&tag=nightly") == [second, first]
    assert await listed(gateway, "archived=with&tag=nightly&tag=v1.0") == [first]
    assert await listed(gateway, "tag=night") == []

    query = "SELECT archived_by, archived_at FROM gateway.run_marks WHERE run = $1"
    was = await gateway.database.fetchrow(query, first)
    assert was["archived_by"] == "owner"
    await mark(gateway, first, archived=True)
    assert await gateway.database.fetchrow(query, first) == was
    assert await mark(gateway, first, archived=False, note=None) == {**UNMARKED, "tags": ["nightly", "v1.0"]}
    assert (await mark(gateway, first, note=" \n"))["note"] is None
    assert await listed(gateway) == [third, second, first]


async def test_a_run_from_the_log_has_the_same_parts(gateway: Any, runs: list[str]) -> None:
    folded = await run_head(gateway.log, gateway.workspace, runs[0])
    assert folded is not None
    listed = (await gateway.client.get(RUNS)).json()["items"][-1]
    from_log = run_from_log(folded)
    assert listed.keys() == from_log.keys()
    decided = ("id", "name", "agents", "attempts_per_task", "paused", "budget", "budget_reached", "rates", "rerun_of")
    assert {key: listed[key] for key in decided} == {key: from_log[key] for key in decided}


async def test_what_cannot_be_written_on_a_run(gateway: Any, runs: list[str]) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"note": "x" * 4001}, "note"),
        ({"note": "a\0b"}, "note"),
        ({"note": "\u202e"}, "note"),
        ({"tags": ["Nightly"]}, "tags[0]"),
        ({"tags": ["a", ".b"]}, "tags[1]"),
        ({"tags": ["x" * 33]}, "tags[0]"),
        ({"tags": [f"t{n}" for n in range(17)]}, "tags"),
        ({"tags": None}, "tags"),
        ({"archived": "yes"}, "archived"),
        ({"name": "x"}, "name"),
    ]
    for body, key in wrong:
        answer = await gateway.client.patch(f"{RUNS}/{runs[0]}", json=body)
        assert (answer.status_code, [issue["key"] for issue in answer.json()["issues"]]) == (400, [key]), answer.text
    assert (await gateway.client.get(f"{RUNS}?archived=none")).status_code == 400
    assert (await gateway.client.patch(f"{RUNS}/none", json={})).status_code == 404
    await gateway.database.execute("UPDATE gateway.members SET role = 'viewer'")
    assert (await gateway.client.patch(f"{RUNS}/{runs[0]}", json={"archived": True})).status_code == 403
    assert await listed(gateway, "archived=only") == []
