"""A NUL wherever a caller can put one."""

import base64
import json
from typing import Any

from proctor.contracts.manifest import Manifest

PATHS: list[tuple[str, str]] = [
    ("GET", "/nowhere%00"),
    ("GET", "/api/v1/benchmarks/a%00b"),
    ("GET", "/api/v1/benchmarks/a%00b/tasks"),
    ("GET", "/api/v1/benchmarks/a%00b/leaderboard"),
    ("POST", "/api/v1/benchmarks/a%00b/sync"),
    ("DELETE", "/api/v1/benchmarks/a%00b"),
    ("GET", "/api/v1/runs/a%00b"),
    ("POST", "/api/v1/runs/a%00b/stop"),
    ("GET", "/api/v1/runs/a%00b/results"),
    ("GET", "/api/v1/runs/a/results/%00"),
    ("GET", "/api/v1/runs/a/results/0-0-1/artifacts/agent/%00"),
    ("GET", "/api/v1/runs/a%00b/logs"),
    ("GET", "/api/v1/runs/a%00b/events"),
    ("GET", "/api/v1/runs/a%00b/lock"),
]
CURSOR = base64.urlsafe_b64encode(json.dumps(["\0", "x"]).encode()).decode()
FILTERS: dict[str, str] = {
    "/api/v1/benchmarks?key=a%00": "key",
    f"/api/v1/benchmarks?cursor={CURSOR}": "cursor",
    "/api/v1/runs?benchmark=%00": "benchmark",
    "/api/v1/runs?status=%00": "status",
    "/api/v1/runs/a/results?task=%00": "task",
    "/api/v1/runs/a/logs?level=%00": "level",
}


async def test_a_path_with_one_leads_nowhere(gateway: Any) -> None:
    for method, path in PATHS:
        answer = await gateway.client.request(method, path, json={} if method == "POST" else None)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), (method, path, answer.text)


async def test_a_filter_with_one_is_a_mistake_at_its_name(gateway: Any) -> None:
    for path, name in FILTERS.items():
        answer = await gateway.client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION"), (path, answer.text)
        assert [issue["key"] for issue in answer.json()["issues"]] == [name]


ADDRESSES: dict[str, int] = {"/api/v1/runs/%ff": 404, "/api/v1/runs/%ed%a0%80": 404, "/api/v1/runs?benchmark=%ff": 200}


async def test_what_isnt_utf_8_in_an_address_is_no_fault_of_ours(gateway: Any) -> None:
    for path, status in ADDRESSES.items():
        assert (await gateway.client.get(path)).status_code == status, path


async def test_a_submit_with_acting_text_is_told_where(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    model = {"type": "endpoint", "base_url": "http://h", "model": "m\x1b", "api_key_secret": "K"}
    submit: dict[str, Any] = {
        "experiment_config": {"benchmark": "acme/tiny\0"},
        "agents": [{"harness": "oracle", "model": model, "env": {"A": "colour \x1b[0m\n"}}],
        "execution_config": {"judge_model": "j\u202e"},
        "secrets": {"required": ["K"], "provided": {"K": "v"}},
    }
    answer = await gateway.client.post("/api/v1/runs", json=submit)
    assert answer.status_code == 400, answer.text
    told = {issue["key"] for issue in answer.json()["issues"] if "control character" in issue["message"]}
    assert told == {"experiment.benchmark", "agents[0].model.model", "execution.judge_model"}
