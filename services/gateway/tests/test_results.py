"""A run that was played to its end: results, files, log, board."""

import base64
import json
from typing import Any

import pytest

from proctor.contracts.manifest import Manifest

ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}


@pytest.fixture
async def run(gateway: Any, projection: None, manifest: Manifest) -> dict[str, Any]:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await gateway.client.post("/api/v1/runs", json=ORACLE)).json()
    last = await gateway.play(run["id"], manifest, [True, False, True])
    return await gateway.until(f"/api/v1/runs/{run['id']}", position=last)


async def test_what_a_finished_run_shows(gateway: Any, run: dict[str, Any], manifest: Manifest) -> None:
    get, base = gateway.client.get, f"/api/v1/runs/{run['id']}"
    assert (run["passed"], run["failed"], run["expected"]) == (2, 1, 3)

    everything = (await get(f"{base}/results")).json()
    assert [(item["task_name"], item["outcome"]) for item in everything["items"]] == [
        ("acme/sort-numbers", "passed"),
        ("acme/count-lines", "failed"),
        ("acme/copy-file", "passed"),
    ]
    first = (await get(f"{base}/results?limit=2")).json()
    second = (await get(f"{base}/results", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert first["items"] + second["items"] == everything["items"]
    counts = {
        "outcome=failed": 1,
        "agent=0": 3,
        "agent=1": 0,
        "task=acme/copy-file": 1,
        "agent=0&outcome=passed&task=acme/copy-file": 1,
        f"outcome=failed&cursor={first['next_cursor']}": 0,
        f"outcome=passed&cursor={first['next_cursor']}": 1,
    }
    for query, count in counts.items():
        assert len((await get(f"{base}/results?{query}")).json()["items"]) == count

    for key in ([2**31, 0, 0], [0, -(2**31), 0], [0, 0, 2**62]):
        beyond = base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
        answer = await get(f"{base}/results", params={"cursor": beyond})
        assert (answer.status_code, answer.json()["issues"][0]["key"]) == (400, "cursor"), key
    result = everything["items"][0]
    by_identity = (await get(f"{base}/results/{result['identity']}")).json()
    assert by_identity == result == (await get(f"{base}/results/0-0-1")).json()
    assert result["agent_seconds"] == 1.5
    assert result["cost_usd"] is None

    files = (await get(f"{base}/results/0-0-1/artifacts")).json()
    assert files["items"] == [
        {"phase": "agent", "path": "trace.txt", "size": 7},
        {"phase": "agent", "path": "deep/raw.bin", "size": 2},
        {"phase": "agent", "path": "caf\ufffd.txt", "size": 7},
    ]
    assert (await get(f"{base}/results/0-0-1/artifacts/agent/caf\ufffd.txt")).text == "au lait"
    text = await get(f"{base}/results/0-0-1/artifacts/agent/trace.txt")
    assert (text.text, text.headers["content-type"]) == ("did it\n", "text/plain; charset=utf-8")
    assert text.headers["x-content-type-options"] == "nosniff"
    binary = await get(f"{base}/results/0-0-1/artifacts/agent/deep/raw.bin")
    assert (binary.content, binary.headers["content-type"]) == (b"\0\1", "application/octet-stream")
    for absent in ("agent/none.txt", "agent/..%2f..%2fetc%2fpasswd", "verifier/x", "agent/deep"):
        assert (await get(f"{base}/results/0-0-1/artifacts/{absent}")).status_code == 404

    lock = (await get(f"{base}/lock")).json()
    assert [task["name"] for task in lock["tasks"]] == [task.name for task in manifest.tasks]

    board = (await get(f"/api/v1/benchmarks/{run['benchmark']}/leaderboard")).json()
    assert set(board) >= {"rows", "ranks", "ineligible"}


async def test_the_log_is_read_both_ways(gateway: Any, run: dict[str, Any]) -> None:
    get, base = gateway.client.get, f"/api/v1/runs/{run['id']}/logs"
    assert (run["status"], run["cleaned_at"] is not None) == ("finished", True)
    everything = (await get(f"{base}?limit=200")).json()
    lines = everything["items"]
    assert everything["older"] is None
    assert [line["sequence"] for line in lines] == sorted(line["sequence"] for line in lines)
    assert lines[0]["type"] == "run.submitted"
    assert run["name"] in lines[0]["message"]
    assert lines[-1]["type"] == "run.cleaned"
    assert any("acme/count-lines" in line["message"] for line in lines)

    backwards: list[Any] = []
    cursor = None
    while True:
        page = (await get(base, params={"limit": 7, **({"cursor": cursor} if cursor else {})})).json()
        backwards = page["items"] + backwards
        cursor = page["older"]
        if cursor is None:
            break
    assert backwards == lines

    forwards: list[Any] = []
    params: dict[str, Any] = {"limit": 7, "direction": "newer"}
    while (page := (await get(base, params=params)).json())["items"]:
        forwards += page["items"]
        params["cursor"] = page["newer"]
    assert forwards == lines
    assert page["newer"] == params["cursor"]

    grades = (await get(f"{base}?step=result&task=1")).json()["items"]
    assert [line["type"] for line in grades] == ["attempt.graded"]
    assert (await get(f"{base}?level=error")).json()["items"] == []
    assert (await get(f"{base}?level=loud")).status_code == 400
