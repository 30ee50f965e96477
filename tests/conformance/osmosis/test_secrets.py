"""`osmosis secret`, and what a submit makes of stored secrets."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

VALUE = "  s3cret 4711 "
TOML = """
[experiment]
benchmark = "acme/custom@3"
[tasks]
task_names = ["proctor/ledger"]
[[agents]]
harness = "oracle"
[agents.model]
type = "hosted"
base_model = "b"
lora_model_name = "l"
"""


@pytest.fixture(autouse=True)
def no_secrets_left(site: Any) -> Iterator[None]:
    yield
    with site.client() as client:
        while items := client.get("/secrets", params={"limit": 200}).json()["items"]:
            for one in items:
                assert client.delete(f"/secrets/{one['name']}", params={"scope": one["scope"]}).status_code == 204


@pytest.mark.parametrize("git", [False, True])
def test_set_list_delete_in_both_scopes(site: Any, git: bool) -> None:
    for scope in ("personal", "workspace"):
        for operation in range(2):
            done = site.osmosis(
                "--json", "secret", "set", "API_KEY", "--scope", scope, "--env", "FROM", git=git, FROM=VALUE
            )
            assert (done.code, done.json["resource"]["name"], done.json["resource"]["scope"]) == (0, "API_KEY", scope)
            assert "4711" not in done.out + done.err, operation
    listed = site.ok("secret", "list", git=git)
    assert [(one["name"], one["scope"]) for one in listed["items"]] == [
        ("API_KEY", "personal"),
        ("API_KEY", "workspace"),
    ]
    assert (listed["total_count"], listed["has_more"]) == (2, False)
    for mode in ([], ["--plain"]):
        shown = site.osmosis(*mode, "secret", "list", git=git)
        assert (shown.code, shown.out.count("API_KEY"), "4711" in shown.out) == (0, 2, False)
    only = site.ok("secret", "list", "--scope", "workspace", git=git)["items"]
    assert [one["scope"] for one in only] == ["workspace"]
    assert site.ok("secret", "delete", "API_KEY", "--yes", git=git)["status"] == "success"
    missing = site.osmosis("--json", "secret", "delete", "API_KEY", "--yes", git=git).error
    assert (missing["code"], "--scope workspace" in missing["message"]) == ("NOT_FOUND", True)
    assert site.ok("secret", "delete", "API_KEY", "--scope", "workspace", "--yes", git=git)["status"] == "success"
    assert site.ok("secret", "list", git=git)["items"] == []


def test_every_page(site: Any) -> None:
    with site.client() as client:
        for index in range(53):
            assert client.put(f"/secrets/KEY_{index}", json={"value": "v"}).status_code == 200
    listed = site.ok("secret", "list", "--all")["items"]
    assert {one["name"] for one in listed} == {f"KEY_{index}" for index in range(53)}
    assert len(listed) == 53


def test_what_is_refused(site: Any) -> None:
    big = site.osmosis("--json", "secret", "set", "A", "--env", "FROM", FROM="4711" * 16_385)
    assert (big.error["code"], "4711" in big.err) == ("VALIDATION", False)
    headers = {"Authorization": f"Bearer {site.token}", "X-Osmosis-Workspace": "default"}
    with httpx.Client(base_url=f"{site.url}/api/cli", headers=headers, timeout=30) as client:
        for body in ({}, {"name": "A", "scope": "user"}, {"name": "a", "value": "v", "scope": "user"}):
            answer = client.post("/environment-secrets", json=body)
            assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION")
        assert client.get("/environment-secrets", params={"limit": 51}).status_code == 400
        gone = client.request("DELETE", "/environment-secrets", json={"name": "A", "scope": "user"})
        assert (gone.status_code, "detail" in gone.json()) == (404, False)


def test_a_member_sets_none_of_the_workspaces(site: Any) -> None:
    with site.client() as client:
        email = "mia@example.org"
        assert client.post("/users", json={"name": "Mia", "email": email}).status_code == 201
        token = client.post("/tokens", json={"name": "t", "user": email}).json()["token"]
        assert client.post("/workspaces/default/members", json={"email": email, "role": "member"}).status_code == 201
    words = ("--json", "secret", "set", "API_KEY", "--env", "FROM", "--scope")
    refused = site.osmosis(*words, "workspace", FROM=VALUE, OSMOSIS_TOKEN=token)
    assert (refused.error["code"], "admin" in refused.error["message"]) == ("PLATFORM_ERROR", True)
    assert site.osmosis(*words, "personal", FROM=VALUE, OSMOSIS_TOKEN=token).code == 0
    assert site.ok("secret", "list")["items"] == []
    site.osmosis("--json", "secret", "delete", "API_KEY", "--yes", OSMOSIS_TOKEN=token)


def test_a_submit_takes_stored_and_given_ones(site: Any) -> None:
    toml = TOML + '[verifier]\nrequired = ["GRADER"]\n[secrets]\nrequired = ["GIVEN", "STORED"]\n'
    with site.client() as client:
        for name, scope in (("GRADER", "workspace"), ("STORED", "user")):
            client.put(f"/secrets/{name}", json={"value": VALUE, "scope": scope})
    run = site.submit("secrets.toml", toml, GIVEN=VALUE)
    found = site.until(run["name"], "finished", "failed")
    assert found["benchmark_run"]["status"] == "finished"
    assert "4711" not in str(found)


def test_what_is_missing_is_named(site: Any) -> None:
    body = {
        "experiment_config": {"benchmark": "acme/custom@3"},
        "agents": [{"harness": "oracle", "env": {}}],
        "execution_config": {"verifier_secrets": ["GRADER"]},
        "secrets": {"required": ["TOKEN"], "provided": {}},
    }
    headers = {"Authorization": f"Bearer {site.token}", "X-Osmosis-Workspace": "default"}
    answer = httpx.post(f"{site.url}/api/cli/benchmark-runs", json=body, headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["error"]) == (404, "Secret(s) not found: GRADER, TOKEN")
