"""Runs over HTTP."""

import asyncio
import time
from typing import Any

from proctor.contracts.events import RunFinished, RunStopped
from proctor.contracts.manifest import Manifest
from proctor.eventlog import EventLog

ORACLE: dict[str, Any] = {
    "experiment_config": {"benchmark": "acme/tiny"},
    "agents": [{"harness": "oracle"}],
    "tasks_config": {"task_names": ["acme/sort-numbers"]},
}
RUNS = "/api/v1/runs"


async def ready(gateway: Any, manifest: Manifest) -> str:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    return benchmark


async def test_a_submitted_run_is_there_at_once(gateway: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await ready(gateway, manifest)
    answer = await gateway.client.post(RUNS, json=ORACLE)
    assert answer.status_code == 201, answer.text
    run = answer.json()
    assert (run["status"], run["task_count"], run["benchmark_key"], run["version"]) == (
        "pending",
        1,
        "acme/tiny",
        manifest.version,
    )
    for word in (run["id"], run["name"]):
        one = (await gateway.client.get(f"{RUNS}/{word}")).json()
        assert one["id"] == run["id"]
        assert one["config"]["agents"][0]["harness"] == "oracle"
        assert one["agent_results"][0]["harness"] == "oracle"
    others = [(await gateway.client.post(RUNS, json=ORACLE)).json()["id"] for _ in range(2)]
    newest_first = [*reversed(others), run["id"]]
    first = (await gateway.client.get(f"{RUNS}?limit=2&benchmark={benchmark}")).json()
    second = (await gateway.client.get(RUNS, params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [item["id"] for item in first["items"] + second["items"]] == newest_first
    assert second["next_cursor"] is None
    for query, count in (("status=pending", 3), ("status=pending&status=running", 3), ("status=failed", 0)):
        assert len((await gateway.client.get(f"{RUNS}?{query}")).json()["items"]) == count
    assert (await gateway.client.get(f"{RUNS}/{run['id']}/lock")).status_code == 404

    stopped = await gateway.client.post(f"{RUNS}/{run['id']}/stop", json={"reason": "enough"})
    assert (stopped.status_code, stopped.json()["stop_requested"]) == (202, True)
    assert stopped.json()["stop_reason"] == "enough"
    again = await gateway.client.post(f"{RUNS}/{run['name']}/stop")
    assert (again.status_code, again.json()["stop_reason"]) == (202, "enough")


async def test_nobody_projects(gateway: Any, manifest: Manifest) -> None:
    """A write answers after 2 s all the same, and the run is folded from the log."""
    await gateway.insert_benchmark(manifest)
    began = time.monotonic()
    answer = await gateway.client.post(RUNS, json=ORACLE)
    assert time.monotonic() - began > 1.9
    assert answer.status_code == 201
    run = answer.json()
    one = (await gateway.client.get(f"{RUNS}/{run['name']}")).json()
    assert (one["id"], one["status"], one["expected"]) == (run["id"], "pending", 0)
    listed = {key for key in run if key not in {"task_count", "warnings"}}
    assert listed == {key for key in one if key not in {"config", "agent_results", "kinds"}}
    stopped = (await gateway.client.post(f"{RUNS}/{run['id']}/stop", json={})).json()
    assert stopped["stop_requested"]
    ready = (await gateway.client.get("/readyz")).json()
    assert not ready["checks"]["projection"]["ok"]

    place: dict[str, Any] = {"workspace": gateway.workspace, "aggregate": "run", "id": run["id"]}
    ended = RunFinished(passed=1, failed=0, errored=0, cancelled=0)
    await EventLog(gateway.log.connection, "scheduler").append(ended, **place)
    refused = await gateway.client.post(f"{RUNS}/{run['id']}/stop", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "RUN_ENDED")


async def test_a_run_that_a_request_stopped_may_be_asked_to_stop_again(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    run = (await gateway.client.post(RUNS, json=ORACLE)).json()["id"]
    crooked = await gateway.client.post(f"{RUNS}/{run}/stop", json={"reason": "en\0ough"})
    assert (crooked.status_code, [issue["key"] for issue in crooked.json()["issues"]]) == (400, ["reason"])
    assert (await gateway.client.post(f"{RUNS}/{run}/stop", json={"reason": "enough"})).status_code == 202
    await gateway.append(run, "scheduler", RunStopped(reason="enough"))
    again = await gateway.client.post(f"{RUNS}/{run}/stop", json={"reason": "really"})
    assert again.status_code == 202, again.text
    assert (again.json()["id"], again.json()["status"], again.json()["stop_reason"]) == (run, "stopped", "enough")


async def test_a_repeat_is_the_same_run_and_another_body_is_refused(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    headers = {"Idempotency-Key": "once"}
    answers = await asyncio.gather(*(gateway.client.post(RUNS, json=ORACLE, headers=headers) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 200, 201]
    assert len({(answer.json()["id"], answer.json()["name"]) for answer in answers}) == 1
    reordered = dict(reversed(ORACLE.items()))
    assert (await gateway.client.post(RUNS, json=reordered, headers=headers)).status_code == 200
    other = {**ORACLE, "env_config": {"A": "b"}}
    refused = await gateway.client.post(RUNS, json=other, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert "or before the vault's key was rotated: look at the newest runs before" in refused.json()["detail"]
    filters = f"ev.{gateway.workspace}.run.*.gateway.run.submitted"
    assert len([record async for record in gateway.log.read(filters)]) == 1


async def test_a_submit_that_died_before_its_append_is_finished_by_its_repeat(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    headers = {"Idempotency-Key": "died"}
    first = (await gateway.client.post(RUNS, json=ORACLE, headers=headers)).json()
    await gateway.log.connection.jetstream().purge_stream(
        "EVENTS", subject=f"ev.{gateway.workspace}.run.{first['id']}.>"
    )
    answer = await gateway.client.post(RUNS, json=ORACLE, headers=headers)
    assert answer.status_code == 201
    assert (answer.json()["id"], answer.json()["name"]) == (first["id"], first["name"])


async def test_a_mistake_reaches_the_caller_with_its_keys(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    body = {**ORACLE, "agents": [{"harness": "orcale"}], "execution_config": {"max_retries": 1}}
    answer = await gateway.client.post(RUNS, json=body)
    assert answer.status_code == 400
    issue = answer.json()["issues"][0]
    assert (issue["key"], issue["correction"]) == ("agents[0].harness", "oracle")
    unknown = await gateway.client.post(RUNS, json={**body, "experiment_config": {"benchmark": "acme/tinny"}})
    assert [(issue["key"], issue["correction"]) for issue in unknown.json()["issues"]] == [
        ("experiment.benchmark", "acme/tiny"),
        ("agents[0].harness", "oracle"),
    ]


async def test_agents_of_one_entrant_are_accepted_with_a_warning(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    answer = await gateway.client.post(RUNS, json={**ORACLE, "agents": [{"harness": "oracle"}] * 2})
    assert (answer.status_code, len(answer.json()["warnings"])) == (201, 1)
    named = [{"harness": "oracle", "name": "brave"}, {"harness": "oracle"}]
    answer = await gateway.client.post(RUNS, json={**ORACLE, "agents": named})
    assert (answer.status_code, answer.json()["warnings"]) == (201, [])
    one = (await gateway.client.get(f"{RUNS}/{answer.json()['id']}")).json()
    assert [agent["name"] for agent in one["config"]["agents"]] == ["brave", None]


async def test_the_kinds_of_a_runs_results(gateway: Any, projection: None, manifest: Manifest) -> None:
    await ready(gateway, manifest)
    body: dict[str, Any] = {**ORACLE, "agents": [{"harness": "oracle"}, {"harness": "nop"}], "tasks_config": {}}
    run = (await gateway.client.post(RUNS, json=body)).json()["id"]
    assert (await gateway.client.get(f"{RUNS}/{run}")).json()["kinds"] == []
    last = await gateway.plan(run, manifest, agents=2)
    errors = [
        ("0-0-1", "disk_full", "no space"),
        ("1-0-1", "secret_missing", "no K here"),
        ("1-1-1", "setup_failed", "later"),
        ("1-2-1", "secret_missing", "nor there"),
    ]
    for attempt, kind, message in errors:
        last = await gateway.error(run, manifest, attempt, kind, message)
        if attempt != "1-1-1":
            settled = {"type": "attempt.settled", "outcome": "errored", "kind": kind, "message": message}
            last = await gateway.append(run, "scheduler", {**settled, "counts": False, "attempt": attempt, "epoch": 1})
    one = await gateway.until(f"{RUNS}/{run}", position=last)
    assert [tuple(kind.values()) for kind in one["kinds"]] == [
        (1, "secret_missing", "errored", "configuration", 2, "no K here"),
        (0, "disk_full", "errored", "infrastructure", 1, "no space"),
        (1, "setup_failed", None, "infrastructure", 1, "later"),
    ]
    assert list(one["kinds"][0]) == ["agent", "kind", "outcome", "fault", "count", "message"]


async def test_a_selection_too_long_for_one_event_is_refused(gateway: Any, manifest: Manifest) -> None:
    names = [f"acme/a-task-with-a-long-name-{number:06}" for number in range(8000)]
    tasks = tuple(manifest.tasks[0].model_copy(update={"name": name}) for name in names)
    await gateway.insert_benchmark(manifest.model_copy(update={"tasks": tasks}))
    answer = await gateway.client.post(RUNS, json={**ORACLE, "tasks_config": {"task_names": names}})
    assert answer.status_code == 400
    assert answer.json()["issues"][0]["key"] == "tasks"


async def test_only_an_admin_stops_the_run_of_another(gateway: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    run = (await gateway.client.post(RUNS, json=ORACLE)).json()["id"]
    await gateway.database.execute("INSERT INTO gateway.users (id, name, email) VALUES ('eve', 'Eve', 'eve@localhost')")
    await gateway.database.execute(
        "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, 'eve', 'member')", gateway.workspace
    )
    await gateway.database.execute("UPDATE gateway.tokens SET holder = 'eve'")
    assert (await gateway.client.post(f"{RUNS}/{run}/stop")).status_code == 403
    await gateway.database.execute("UPDATE gateway.members SET role = 'admin' WHERE member = 'eve'")
    assert (await gateway.client.post(f"{RUNS}/{run}/stop")).status_code == 202
