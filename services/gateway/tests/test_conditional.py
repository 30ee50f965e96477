"""Documents that the caller has already aren't sent again, and what is said twice is done once."""

import asyncio
from typing import Any

import httpx

from proctor.contracts.manifest import Manifest

RUNS, BENCHMARKS = "/api/v1/runs", "/api/v1/benchmarks"
ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}


async def ask(gateway: Any, path: str, tag: str) -> httpx.Response:
    return await gateway.client.get(path, headers={"If-None-Match": tag})


async def test_documents_that_didnt_change(gateway: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"{BENCHMARKS}/{benchmark}", status="ready")
    run = (await gateway.client.post(RUNS, json=ORACLE)).json()["id"]
    await gateway.play(run, manifest, [True, False, True])
    await gateway.until(f"{RUNS}/{run}", status="finished", passed=2)
    while not (await gateway.client.get(f"{RUNS}/{run}")).json()["agent_results"][0]["metrics"]:
        await asyncio.sleep(0.05)
    of_run = [f"{RUNS}/{run}{part}" for part in ("", "/lock", "/config", "/results/0-0-1")]
    of_benchmark = [f"{BENCHMARKS}/{benchmark}{part}" for part in ("", "/tasks", "/leaderboard")]
    tags: dict[str, str] = {}
    for path in (*of_run, *of_benchmark, "/openapi.json"):
        whole = await gateway.client.get(path)
        assert (whole.status_code, whole.headers["cache-control"]) == (200, "private, no-cache"), path
        tags[path] = tag = whole.headers["etag"]
        assert not tag.startswith("W/")
        for had in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            same = await ask(gateway, path, had)
            assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag), (path, had)
            assert "content-type" not in same.headers
        assert (await ask(gateway, path, '"other"')).content == whole.content
    assert len(set(tags.values())) == len(tags)
    await gateway.client.patch(f"{RUNS}/{run}", json={"note": "read this"})
    changed = await ask(gateway, of_run[0], tags[of_run[0]])
    assert (changed.status_code, changed.json()["note"]) == (200, "read this")
    assert changed.headers["etag"] != tags[of_run[0]]
    assert (await ask(gateway, of_run[1], tags[of_run[1]])).status_code == 304


async def test_an_error_has_no_tag(gateway: Any) -> None:
    missing = await ask(gateway, f"{RUNS}/none", "*")
    assert (missing.status_code, "etag" in missing.headers) == (404, False)


async def test_fifty_submits_with_one_key_are_one_run(gateway: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"{BENCHMARKS}/{benchmark}", status="ready")
    headers = {"Idempotency-Key": "fifty"}
    submits = (gateway.client.post(RUNS, json=ORACLE, headers=headers) for _ in range(50))
    answers = await asyncio.gather(*submits)
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 49 + [201]
    assert len({answer.json()["id"] for answer in answers}) == len({answer.json()["name"] for answer in answers}) == 1
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert len((await gateway.client.get(RUNS)).json()["items"]) == 1
    other = await gateway.client.post(RUNS, json={**ORACLE, "env_config": {"A": "b"}}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")


async def test_a_benchmark_that_is_added_twice_with_one_key(gateway: Any, projection: None) -> None:
    name = f"upload/{gateway.workspace}/stored"
    await gateway.objects.put(name, b"stored")
    body = {"key": "acme/new", "name": "New", "source": {"kind": "upload", "object": name, "origin": "."}}
    headers = {"Idempotency-Key": "new"}
    adds = (gateway.client.post(BENCHMARKS, json=body, headers=headers) for _ in range(10))
    answers = await asyncio.gather(*adds)
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [201]
    (identifier,) = {answer.json()["id"] for answer in answers}
    assert {answer.headers["location"] for answer in answers} == {f"{BENCHMARKS}/{identifier}"}
    for other in ({**body, "name": "Newer"}, {**body, "key": "acme/newer"}):
        refused = await gateway.client.post(BENCHMARKS, json=other, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    for more in ({}, {"Idempotency-Key": "another"}):
        taken = await gateway.client.post(BENCHMARKS, json=body, headers=more)
        assert (taken.status_code, taken.json()["code"]) == (409, "CONFLICT")
    assert (await gateway.client.delete(f"{BENCHMARKS}/{identifier}")).status_code == 204
    gone = await gateway.client.post(BENCHMARKS, json=body, headers=headers)
    assert (gone.status_code, gone.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert (await gateway.client.post(BENCHMARKS, json=body)).status_code == 201
