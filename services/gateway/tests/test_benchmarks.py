"""Benchmarks over HTTP, from the upload on."""

import gzip
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proctor.contracts.events import BenchmarkAdded
from proctor.contracts.events.benchmark import BundledSource
from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.contracts.manifest import Manifest
from proctor.gateway.intents.benchmarks import key_fault

ARCHIVE = gzip.compress(b"not read here" * 1000)
GZIP = {"Content-Type": "application/gzip"}
BENCHMARKS = "/api/v1/benchmarks"


async def uploaded(gateway: Any) -> dict[str, Any]:
    answer = await gateway.client.post("/api/v1/uploads", content=ARCHIVE, headers=GZIP)
    assert answer.status_code == 201, answer.text
    return answer.json()


def body(upload: dict[str, Any], **fields: Any) -> dict[str, Any]:
    source = {"kind": "upload", "object": upload["object"], "origin": "./tiny"}
    return {"key": "acme/tiny@3", "name": "Tiny", "source": source, **fields}


async def test_an_upload_is_stored_by_its_digest(gateway: Any) -> None:
    upload = await uploaded(gateway)
    assert upload == {
        "object": f"upload/{gateway.workspace}/{hashlib.sha256(ARCHIVE).hexdigest()}",
        "size": len(ARCHIVE),
    }
    assert await gateway.objects.get(upload["object"]) == ARCHIVE
    assert await uploaded(gateway) == upload


async def test_the_life_of_a_benchmark(gateway: Any, projection: None) -> None:
    post = gateway.client.post
    upload = await uploaded(gateway)
    answer = await post(BENCHMARKS, json=body(upload, pass_threshold="0.5"))
    assert answer.status_code == 201, answer.text
    added = answer.json()
    assert (added["status"], added["key"], float(added["pass_threshold"])) == ("pending", "acme/tiny@3", 0.5)
    assert (await post(BENCHMARKS, json=body(upload))).status_code == 409

    by_key = (await gateway.client.get(BENCHMARKS, params={"key": "acme/tiny@3"})).json()["items"]
    assert [item["id"] for item in by_key] == [added["id"]]
    assert (await gateway.client.get(f"{BENCHMARKS}/Tiny")).json()["id"] == added["id"]
    tasks = (await gateway.client.get(f"{BENCHMARKS}/{added['id']}/tasks")).json()
    assert tasks == {"version": None, "tasks": [], "unavailable": [], "task_sets": [], "categories": []}
    assert (await gateway.client.get(f"{BENCHMARKS}/{added['id']}/leaderboard")).json()["rows"] == []
    assert (await post(f"{BENCHMARKS}/{added['id']}/sync", json={})).status_code == 409

    assert (await gateway.client.delete(f"{BENCHMARKS}/{added['id']}")).status_code == 204
    assert (await gateway.client.get(f"{BENCHMARKS}/{added['id']}")).status_code == 404
    again = await post(BENCHMARKS, json=body(upload))
    assert again.status_code == 201
    assert again.json()["id"] != added["id"]


async def test_a_ready_one_shows_its_tasks_and_is_synced_again(
    gateway: Any, projection: None, manifest: Manifest
) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    one = await gateway.until(f"{BENCHMARKS}/{benchmark}", status="ready")
    assert (one["task_count"], one["unavailable_count"]) == (3, 1)
    tasks = (await gateway.client.get(f"{BENCHMARKS}/{benchmark}/tasks")).json()
    assert [task["name"] for task in tasks["tasks"]] == [task.name for task in manifest.tasks]
    assert tasks["categories"] == [{"name": "code", "task_count": 1}, {"name": "files", "task_count": 2}]
    assert [(item["name"], item["task_count"]) for item in tasks["task_sets"]] == [("parity", 1)]
    assert tasks["unavailable"] == [{"name": "acme/broken", "reason": "task.toml can't be read"}]
    synced = await gateway.client.post(f"{BENCHMARKS}/{benchmark}/sync", json={})
    assert (synced.status_code, synced.json()["status"]) == (202, "pending")
    refused = await gateway.client.post(
        "/api/v1/runs", json={"experiment_config": {"benchmark": benchmark}, "agents": [{"harness": "nop"}]}
    )
    assert refused.json()["issues"][0]["key"] == "experiment.benchmark"


async def test_a_managed_one_is_there_for_all_and_stays(gateway: Any, projection: None, manifest: Manifest) -> None:
    key = f"managed-{gateway.workspace}"
    benchmark = await gateway.add_benchmark(manifest, key=key, workspace=SYSTEM_WORKSPACE)
    await gateway.until(f"{BENCHMARKS}/{key}", status="ready")
    refused = await gateway.client.delete(f"{BENCHMARKS}/{benchmark}")
    assert (refused.status_code, refused.json()["code"]) == (409, "BENCHMARK_MANAGED")
    taken = await gateway.client.post(BENCHMARKS, json=body(await uploaded(gateway), key=key))
    assert taken.status_code == 409


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"key": ""}, "key"),
    ({"key": "has space"}, "key"),
    ({"key": None}, "key"),
    ({"name": " padded"}, "name"),
    ({"pass_threshold": 0}, "pass_threshold"),
    ({"pass_threshold": "1.5"}, "pass_threshold"),
    ({"pass_threshold": "NaN"}, "pass_threshold"),
    ({"source": {"kind": "upload", "object": "upload/none", "origin": "."}}, "source.object"),
    ({"source": {"kind": "bundled", "name": "first-steps"}}, "source.kind"),
    ({"treshold": 1}, "treshold"),
]


async def test_a_mistake_is_told_at_its_key(gateway: Any) -> None:
    upload = await uploaded(gateway)
    for fields, key in MISTAKES:
        answer = await gateway.client.post(BENCHMARKS, json=body(upload, **fields))
        assert answer.status_code == 400, (fields, answer.text)
        assert key in {issue["key"] for issue in answer.json()["issues"]}, fields


async def test_an_upload_over_the_limit_is_refused(gateway: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield ARCHIVE
        for _ in range(gateway.settings.upload_bytes // 4096 + 1):
            yield bytes(4096)

    body = b"".join([chunk async for chunk in chunks()])
    for content in (body, chunks()):
        answer = await gateway.client.post("/api/v1/uploads", content=content, headers=GZIP)
        assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")


ACTING = ["\0", "\x1b", "\x7f", "\x85", "\u202e", "\u2066"]


async def test_text_that_acts_is_refused_at_its_key(gateway: Any) -> None:
    upload = await uploaded(gateway)
    for character in ACTING:
        text = f"a{character}b"
        source = {"kind": "upload", "object": upload["object"], "origin": text}
        fields = {"key": text, "name": text, "description": text, "default_harness": text, "reward_key": text}
        answer = await gateway.client.post(BENCHMARKS, json=body(upload, **fields, source=source))
        assert answer.status_code == 400
        assert {issue["key"] for issue in answer.json()["issues"]} == {*fields, "source.origin"}, ascii(character)
        assert f"U+{ord(character):04X}" in answer.json()["detail"]


async def test_a_description_may_have_lines_and_any_script(gateway: Any) -> None:
    upload = await uploaded(gateway)
    fields = {"name": "Größe שלום 👩‍🔬", "description": "one\n\ttwo"}
    answer = await gateway.client.post(BENCHMARKS, json=body(upload, **fields))
    assert answer.status_code == 201, answer.text
    assert {key: answer.json()[key] for key in fields} == fields


async def test_the_origin_of_a_sync_is_checked_as_well(gateway: Any, manifest: Manifest) -> None:
    benchmark = await gateway.insert_benchmark(manifest)
    await gateway.log.append(
        BenchmarkAdded(
            benchmark=benchmark, key="acme/tiny", name="Tiny", source=BundledSource(name="x"), added_by="owner"
        ),
        workspace=gateway.workspace,
        aggregate="benchmark",
        id=benchmark,
    )
    source = {**body(await uploaded(gateway))["source"], "origin": "./a\0"}
    answer = await gateway.client.post(f"{BENCHMARKS}/{benchmark}/sync", json={"source": source})
    assert (answer.status_code, [issue["key"] for issue in answer.json()["issues"]]) == (400, ["source.origin"])


KEYS: dict[str, bool] = {
    "a": True,
    "acme/tiny@3": True,
    "acme/a.b/_c": True,
    "a/...": True,
    "systems/a": True,
    "a/system": True,
    "a/..": False,
    "a/./b": False,
    "a//b": False,
    "/a": False,
    "a/": False,
    "..": False,
    "a b": False,
    "system": False,
    "System/a": False,
}


@pytest.mark.parametrize("key", KEYS)
def test_keys(key: str) -> None:
    assert (key_fault(key) is None) == KEYS[key]


async def test_a_reserved_or_crooked_key_is_told_the_rule(gateway: Any) -> None:
    upload = await uploaded(gateway)
    for key, word in (("a/..", "single slashes"), ("system", "reserved")):
        answer = await gateway.client.post(BENCHMARKS, json=body(upload, key=key))
        assert (answer.status_code, answer.json()["issues"][0]["key"]) == (400, "key")
        assert word in answer.json()["detail"]
