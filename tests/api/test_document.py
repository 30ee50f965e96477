"""Every route answers what the OpenAPI document says. The clients of these tests hold each answer to it."""

import json
from typing import Any

import pytest
from schemathesis.openapi.checks import JsonSchemaError

NEVER_ENDS = "/api/v1/runs/{run}/events"
SHOWN_ONCE = "/api/v1/files/{token}/{name}"


def places(things: dict[str, str], tenant: Any) -> dict[str, str]:
    return {
        "benchmark": things["benchmark"],
        "run": things["run"],
        "attempt": things["identity"],
        "phase": "verifier",
        "path": "reward.txt",
        "name": tenant.workspace,
    }


def test_every_route_that_reads_answers_as_described(site: Any, ours: Any) -> None:
    code = site.client(None).post("/api/cli/device/authorize", json={"deviceName": "a device"}).json()["user_code"]
    named = {**places(ours.things, ours), "user_code": code}
    outputs = ours.owner.get(f"/api/v1/runs/{named['run']}/outputs", params={"types": "all"}).json()
    named["path"] = outputs["items"][0]["path"]
    runs = f"{named['run']},{named['run']}"
    queries = {"/api/v1/compare": {"runs": runs, "agents": "0,1"}}
    answered: dict[str, int] = {}
    for path, item in site.contract.document["paths"].items():
        if "get" not in item or path in {NEVER_ENDS, SHOWN_ONCE}:
            continue
        client = site.operator if path == "/api/v1/users" else ours.owner
        if "/artifacts/{phase}" in path:
            files = ours.owner.get(path.partition("/{phase}")[0].format(**named)).json()["items"]
            answered[path] = client.get(path.format(**{**named, **files[0]})).status_code
        else:
            answered[path] = client.get(path.format(**named), params=queries.get(path)).status_code
    assert {path: status for path, status in answered.items() if status != 200} == {}
    assert site.client(None).get(outputs["items"][0]["url"]).status_code == 200


def test_the_contract_of_these_tests_notices_what_it_doesnt_say(site: Any, ours: Any) -> None:
    answer = ours.owner.get("/api/v1/whoami")
    more = {**answer.json(), "password": "hunter2"}
    answer._content = json.dumps(more).encode()
    with pytest.raises(JsonSchemaError, match="password"):
        site.contract.check(answer)
