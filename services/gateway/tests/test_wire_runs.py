"""Benchmarks and runs over the osmosis wire."""

import math
import tomllib
from typing import Any

from proctor.contracts.manifest import Manifest
from proctor.gateway.wire import board

CLI = "/api/cli"
KEY = "acme/custom@3"
SUBMIT: dict[str, Any] = {"experiment_config": {"benchmark": KEY}, "agents": [{"harness": "oracle", "env": {}}]}


async def ready(osmosis: Any, manifest: Manifest) -> str:
    benchmark = await osmosis.add_benchmark(manifest, key=KEY)
    await osmosis.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    return benchmark


async def get(osmosis: Any, path: str, **params: Any) -> Any:
    answer = await osmosis.client.get(f"{CLI}/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def entry_of(osmosis: Any, benchmark: str) -> Any:
    """Its entry; the managed ones of other tests are beside it."""
    (entry,) = [one for one in (await get(osmosis, "benchmarks"))["benchmarks"] if one["id"] == benchmark]
    return entry


async def submit(osmosis: Any, **changes: Any) -> dict[str, Any]:
    answer = await osmosis.client.post(f"{CLI}/benchmark-runs", json={**SUBMIT, **changes})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_benchmark_its_runs_and_its_board(osmosis: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await ready(osmosis, manifest)
    entry = await entry_of(osmosis, benchmark)
    site = "http://127.0.0.1:8700"
    heading = {
        "id": benchmark,
        "name": f"Name of {KEY}",
        "description": None,
        "source_type": "harbor_registry",
        "source_ref": KEY,
        "source_url": None,
        "task_count": 3,
        "category_count": 2,
        "task_sets": [{"name": "parity", "description": None, "recommended": True, "task_count": 1}],
        "sync_status": "ready",
        "synced_task_count": 3,
        "sync_error": None,
        "platform_url": f"{site}/benchmarks/{benchmark}",
    }
    last = {"last_run_at": None, "last_run_status": None, "last_run_name": None}
    assert entry == {**heading, "run_count": 0, "running_count": 0, **last, "creator_name": "owner"}

    paths = ("acme%2Fcustom%403", "acme/custom@3", benchmark, "Name%20of%20acme%2Fcustom%403")
    details = [await get(osmosis, f"benchmarks/{path}") for path in paths]
    assert all(detail == details[0] for detail in details)
    assert details[0] == {
        "benchmark": {
            **heading,
            "runner_family": "harbor",
            "supports_harness": True,
            "requires_harness": True,
            "default_harness": None,
            "requires_judge_model": False,
            "requires_judge_api_key": False,
            "judge_model_default": None,
            "pass_threshold": 1.0,
            "categories": [{"name": "code", "task_count": 1}, {"name": "files", "task_count": 2}],
            "tasks": [
                {"name": "acme/sort-numbers", "category": "code", "difficulty": None},
                {"name": "acme/count-lines", "category": "files", "difficulty": None},
                {"name": "acme/copy-file", "category": "files", "difficulty": None},
            ],
            "unavailable_tasks": {
                "reason": "task.toml can't be read",
                "reasons": {"acme/broken": "task.toml can't be read"},
                "tasks": [{"name": "acme/broken", "category": None, "difficulty": None}],
            },
        },
        "leaderboard": [],
    }

    made = await submit(osmosis)
    assert set(made) >= {"id", "name", "status", "created_at", "workflow_id", "task_count", "platform_url"}
    assert (made["status"], made["task_count"], made["workflow_id"]) == ("pending", 3, f"benchmark-run/{made['id']}")
    await osmosis.play(made["id"], manifest, [True, True, False])
    await osmosis.until(f"/api/v1/runs/{made['name']}", status="finished")
    ranked = await _until_ranked(osmosis, benchmark)
    run = {"id": made["id"], "name": made["name"], "platform_url": f"{site}/benchmarks/runs/{made['id']}"}
    (standing,) = ranked
    rate = standing.pop("pass_at_1")
    assert standing == {
        "rank": 1,
        "tied": False,
        "entrant": "oracle",
        "harness": "oracle",
        "model": None,
        "task_set": "full",
        "pass_at_k": [],
        "cost_per_task": None,
        "mean_duration_seconds": 1.5,
        "tokens_per_task": None,
        "run": run,
    }
    # Wilson's interval of 2 in 3
    assert (rate["n"], rate["method"]) == (3, "wilson")
    assert [round(rate[key], 3) for key in ("value", "ci_low", "ci_high")] == [0.667, 0.208, 0.939]

    entry = await entry_of(osmosis, benchmark)
    assert (entry["run_count"], entry["running_count"]) == (1, 0)
    assert (entry["last_run_name"], entry["last_run_status"]) == (made["name"], "finished")

    one = await get(osmosis, f"benchmark-runs/{made['name']}")
    (listed,) = (await get(osmosis, "benchmark-runs", benchmark=benchmark))["benchmark_runs"]
    assert {key: one["benchmark_run"][key] for key in listed} == listed
    assert (listed["id"], listed["creator_email"], listed["agent_count"]) == (made["id"], "owner@localhost", 1)
    assert (listed["ingested_results"], listed["expected_results"]) == (3, 3)
    assert math.isclose(listed["best_pass_at_1"], 2 / 3)
    assert one["progress"] == {"ingested": 3, "expected": 3}
    counts = {"passed": 2, "failed": 1, "errored": 0, "cancelled": 0}
    unknown = dict.fromkeys(("total_input_tokens", "total_output_tokens", "total_cost_usd"))
    assert one["totals"] == {**counts, **unknown}
    (agent,), (metrics,) = one["agents"], one["agent_metrics"]
    assert (agent["agent_index"], agent["harness"], agent["status"]) == (0, "oracle", "finished")
    assert (metrics["benchmark_run_agent_id"], metrics["rank"], metrics["n_tasks"]) == (agent["id"], 1, 3)
    configuration = one["configuration"]
    assert (configuration["source_ref"], configuration["resolved_version"]) == (KEY, manifest.version)
    assert configuration["config"]["attempts_per_task"] == 1

    lines: list[Any] = []
    cursor = None
    while not lines or cursor:
        page = await get(
            osmosis, f"benchmark-runs/{made['id']}/logs", limit=4, **({"cursor": cursor} if cursor else {})
        )
        assert len(page["logs"]) <= 4
        lines, cursor = page["logs"] + lines, page["next_cursor"]
    everything = (await get(osmosis, f"benchmark-runs/{made['name']}/logs", limit=200))["logs"]
    assert lines == everything
    sequences = [line["details"]["sequence"] for line in lines]
    assert sequences == sorted(set(sequences))
    types = [line["details"]["type"] for line in lines]
    assert (types[0], types[-1]) == ("run.submitted", "run.cleaned")
    assert set(lines[0]) == {"timestamp", "level", "step", "message", "details"}
    forward = await get(osmosis, f"benchmark-runs/{made['name']}/logs", limit=4, direction="newer")
    assert forward["logs"] == lines[:4]

    again = await osmosis.client.post(f"{CLI}/benchmark-runs/{made['id']}/stop", json={})
    assert (again.status_code, again.json()["code"]) == (409, "RUN_ENDED")


ENV: dict[str, Any] = {"env_config": {"A": "1"}, "agents": [{"harness": "oracle", "env": {"B": "2"}}]}


async def test_values_of_an_environment_are_for_its_submitter_and_admins(
    osmosis: Any, projection: None, manifest: Manifest
) -> None:
    await ready(osmosis, manifest)
    run = await submit(osmosis, **ENV, secrets={"required": ["RUN_TOKEN"], "provided": {"RUN_TOKEN": "planted"}})
    told: dict[str, Any] = {}
    for role, stranger in (("owner", False), ("admin", True), ("member", False), ("member", True), ("viewer", True)):
        holder = "eve" if stranger else "owner"
        await osmosis.database.execute(
            "INSERT INTO gateway.users (id, name, email) VALUES ('eve', 'Eve', 'eve@localhost') ON CONFLICT DO NOTHING"
        )
        await osmosis.database.execute("DELETE FROM gateway.members WHERE workspace = $1", osmosis.workspace)
        await osmosis.database.execute(
            "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, $2, $3)", osmosis.workspace, holder, role
        )
        await osmosis.database.execute("UPDATE gateway.tokens SET holder = $1", holder)
        one = await get(osmosis, f"benchmark-runs/{run['id']}")
        assert "planted" not in str(one)
        assert one["configuration"]["resolved_secret_scopes"] == {"RUN_TOKEN": "run"}
        told[f"{holder} {role}"] = one["agents"][0]["environment_variables"]
        text = (await osmosis.client.get(f"/api/v1/runs/{run['id']}/config")).text
        written = tomllib.loads(text)
        assert {**written["env"], **written["agents"][0]["env"]} == told[f"{holder} {role}"], (holder, role)
        assert ("are empty here" in text) == (told[f"{holder} {role}"]["A"] == "")
    seen, names = {"A": "1", "B": "2"}, {"A": "", "B": ""}
    expected = {"owner owner": seen, "eve admin": seen, "owner member": seen, "eve member": names, "eve viewer": names}
    assert told == expected


async def _until_ranked(osmosis: Any, benchmark: str) -> list[Any]:
    await osmosis.until(f"/api/v1/benchmarks/{benchmark}/leaderboard", ineligible=[])
    while not (ranked := (await get(osmosis, f"benchmarks/{benchmark}"))["leaderboard"]):
        pass
    return ranked


async def test_pages_of_runs_and_a_stop(osmosis: Any, projection: None, manifest: Manifest) -> None:
    await ready(osmosis, manifest)
    made = [(await submit(osmosis))["id"] for _ in range(5)]
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await get(osmosis, "benchmark-runs", limit=2, offset=offset)
        assert page["total_count"] == 5
        assert page["has_more"] == (page["next_offset"] is not None)
        seen += [run["id"] for run in page["benchmark_runs"]]
        offset = page["next_offset"]
    assert seen == made[::-1]
    beyond = await get(osmosis, "benchmark-runs", offset=50)
    assert beyond == {"benchmark_runs": [], "total_count": 5, "has_more": False, "next_offset": None}
    for params, count in (({"benchmark": "none"}, 0), ({"benchmark": KEY}, 5)):
        assert (await get(osmosis, "benchmark-runs", **params))["total_count"] == count
    await osmosis.database.execute(
        "INSERT INTO gateway.run_marks (workspace, run, archived_at) VALUES ($1, $2, now())", osmosis.workspace, made[4]
    )
    left = await get(osmosis, "benchmark-runs")
    assert (left["total_count"], [run["id"] for run in left["benchmark_runs"]]) == (4, made[3::-1])
    for _ in range(2):
        stopped = await osmosis.client.post(f"{CLI}/benchmark-runs/{made[0]}/stop", json={})
        assert (stopped.status_code, stopped.json()["benchmark_run"]["status"]) == (202, "pending")
    assert (await get(osmosis, f"benchmark-runs/{made[0]}"))["benchmark_run"]["stop_requested"]


async def test_all_problems_of_a_submit_at_once(osmosis: Any, manifest: Manifest) -> None:
    await osmosis.insert_benchmark(manifest)
    body: dict[str, Any] = {
        "experiment_config": {"benchmark": "acme/tiny"},
        "agents": [{"harness": "orcale", "env": {}}],
        "tasks_config": {"task_names": ["acme/sort-number"], "categories": ["cod"]},
        "execution_config": {"attempts_per_task": "2", "max_retries": 99},
    }
    answer = await osmosis.client.post(f"{CLI}/benchmark-runs", json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "5 problems found")
    assert [(issue["key"], issue["key_correction"]) for issue in answer.json()["issues"]] == [
        ("tasks.task_names", "acme/sort-numbers"),
        ("tasks.categories", "code"),
        ("agents[0].harness", "oracle"),
        ("execution.attempts_per_task", None),
        ("execution.max_retries", None),
    ]
    unknown = {**SUBMIT, "experiment_config": {"benchmark": "acme/tinny"}}
    answer = await osmosis.client.post(f"{CLI}/benchmark-runs", json=unknown)
    body = answer.json()
    assert (answer.status_code, body["error"], body["field"]) == (400, "1 problem found", "experiment.benchmark")
    assert body["issues"][0]["key_correction"] == "acme/tiny"


async def test_missing_secrets_are_named_as_the_command_expects(osmosis: Any, manifest: Manifest) -> None:
    await osmosis.insert_benchmark(manifest)
    body: dict[str, Any] = {**SUBMIT, "experiment_config": {"benchmark": "acme/tiny"}}
    body |= {"secrets": {"required": ["ONE_KEY", "TWO_KEY"], "provided": {}}}
    answer = await osmosis.client.post(f"{CLI}/benchmark-runs", json=body)
    assert (answer.status_code, answer.json()["error"]) == (404, "Secret(s) not found: ONE_KEY, TWO_KEY")
    answer = await osmosis.client.post(f"{CLI}/benchmark-runs", json={**body, "agents": []})
    assert answer.status_code == 400
    assert "secrets.required" in {issue["key"] for issue in answer.json()["issues"]}


async def test_who_may_only_look_submits_and_stops_nothing(osmosis: Any) -> None:
    await osmosis.database.execute("UPDATE gateway.members SET role = 'viewer' WHERE workspace = $1", osmosis.workspace)
    for path in ("benchmark-runs", "benchmark-runs/x/stop"):
        answer = await osmosis.client.post(f"{CLI}/{path}", json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert (await osmosis.client.get(f"{CLI}/benchmark-runs")).status_code == 200


def entrant(key: str, **fields: Any) -> dict[str, Any]:
    row = {"entrant": key, "harness": "codex", "model": key, "endpoint": None, "name": None, "task_set": "full"}
    point = {
        "value": 0.5,
        "ci_low": 0.4,
        "ci_high": 0.6,
        "n": 9,
        "n_eff": 9.5,
        "method": "wilson",
        "provisional": False,
    }
    metrics = {
        "pass_at_1": point,
        "pass_at_k": [{"k": 1, **point}, {"k": 2, **point}],
        "cost_per_task": {"value": 0.25, "ci_low": 0.2, "ci_high": 0.3, "tasks": 9, "missing": 0},
        "time_per_task": None,
        "tokens_per_task": None,
    }
    return {**row, "run": f"run-of-{key}", "run_name": "bold-fox", "metrics": metrics, **fields}


def test_who_cant_be_told_from_the_leader_is_tied_with_it() -> None:
    document = {
        "rows": [
            entrant("best"),
            entrant("second", endpoint="host/v1", name="tuned"),
            entrant("third"),
            entrant("new"),
        ],
        "ranks": {
            "pass_at_1": {
                "leader": "best",
                "standings": [
                    {"entrant": "best", "rank": 1, "tied": False},
                    {"entrant": "second", "rank": 1, "tied": True},
                    {"entrant": "third", "rank": 3, "tied": False},
                ],
            }
        },
    }
    found = board.entries(document, "https://bench.example.org/proctor")
    assert [(entry["rank"], entry["tied"]) for entry in found] == [(1, False), (1, True), (3, False), (None, False)]
    assert [entry["model"] for entry in found] == ["best", "second @ host/v1 (tuned)", "third", "new"]
    first = found[0]
    rate = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 9, "method": "wilson"}
    assert first["pass_at_1"] == rate
    assert first["pass_at_k"] == [{"k": 1, **rate}, {"k": 2, **rate}]
    assert (first["cost_per_task"], first["mean_duration_seconds"]) == (0.25, None)
    assert first["run"]["platform_url"] == "https://bench.example.org/proctor/benchmarks/runs/run-of-best"
