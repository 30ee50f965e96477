"""Runs over HTTP, with the real projection."""

from typing import Any

from proctor.contracts.manifest import Manifest

ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}


async def ready(gateway: Any, manifest: Manifest) -> str:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    return benchmark


async def test_a_submitted_run_is_there_at_once_by_id_and_name(gateway: Any, projection: None, manifest: Manifest):
    await ready(gateway, manifest)
    answer = await gateway.client.post("/api/v1/runs", json=ORACLE)
    assert answer.status_code == 201, answer.text
    run = answer.json()
    print(run)
    assert run["status"] == "pending"
    assert run["task_count"] == 3
    for word in (run["id"], run["name"]):
        print((await gateway.client.get(f"/api/v1/runs/{word}")).json())
    print((await gateway.client.get("/api/v1/runs")).json())
    print((await gateway.client.get(f"/api/v1/runs/{run['id']}/logs")).text)
    print((await gateway.client.get("/readyz")).text)
    print((await gateway.client.get("/api/v1/benchmarks")).text)
    print((await gateway.client.get("/api/v1/benchmarks/acme%2Ftiny/tasks")).text)
    print((await gateway.client.get("/api/v1/nope")).text)
    print((await gateway.client.get("/api/v1/runs?limit=x")).text)
    print((await gateway.client.post("/api/v1/runs", json={})).text)
    print((await gateway.client.post("/api/v1/runs", content=b"x")).text)
    assert 0
