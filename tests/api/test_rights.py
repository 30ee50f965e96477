"""Who may do what, for every route: the table is design.md section 10 and the README of the gateway, by hand."""

from typing import Any, NamedTuple

import httpx
import pytest

from proctor.gateway.wire.errors import PREFIX

ROLES = ("viewer", "member", "admin", "owner")
GZIP = {"Content-Type": "application/gzip"}


class Right(NamedTuple):
    """`least`: nobody (no token is needed), anyone (with a token), a role in the workspace, or operator."""

    method: str
    path: str
    least: str
    json: Any = None
    query: dict[str, str] | None = None


TABLE = [
    Right("GET", "/", "nobody"),
    Right("GET", "/healthz", "nobody"),
    Right("GET", "/readyz", "nobody"),
    Right("GET", "/api/v1/files/{token}/{name}", "nobody"),
    Right("GET", "/api/v1/whoami", "anyone"),
    Right("GET", "/api/v1/tokens", "anyone"),
    Right("GET", "/api/v1/tokens", "operator", query={"user": "ours-viewer@example.org"}),
    Right("POST", "/api/v1/tokens", "anyone", {}),
    Right("POST", "/api/v1/tokens", "operator", {"name": "of another", "user": "nobody@example.org"}),
    Right("DELETE", "/api/v1/tokens/{token}", "anyone"),
    Right("DELETE", "/api/v1/tokens/{token}", "operator", query={"user": "ours-viewer@example.org"}),
    Right("GET", "/api/v1/users", "operator"),
    Right("POST", "/api/v1/users", "operator", {}),
    Right("GET", "/api/v1/workspaces", "anyone"),
    Right("POST", "/api/v1/workspaces", "operator", {}),
    Right("GET", "/api/v1/workspaces/{name}", "viewer"),
    Right("PATCH", "/api/v1/workspaces/{name}", "owner", {}),
    Right("PATCH", "/api/v1/workspaces/{name}", "owner", {"repo": None}),
    Right("PATCH", "/api/v1/workspaces/{name}", "operator", {"repo": "acme/rights"}),
    Right("GET", "/api/v1/workspaces/{name}/budget", "viewer"),
    Right("PUT", "/api/v1/workspaces/{name}/budget", "owner", {}),
    Right("GET", "/api/v1/workspaces/{name}/members", "admin"),
    Right("POST", "/api/v1/workspaces/{name}/members", "owner", {}),
    Right("PATCH", "/api/v1/workspaces/{name}/members/{user}", "owner", {}),
    Right("DELETE", "/api/v1/workspaces/{name}/members/{user}", "owner"),
    Right("GET", "/api/v1/device/{user_code}", "anyone"),
    Right("POST", "/api/v1/device/{user_code}", "anyone", {"approve": False}),
    Right("GET", "/api/v1/audit", "admin"),
    Right("GET", "/api/v1/benchmarks", "viewer"),
    Right("POST", "/api/v1/benchmarks", "admin", {}),
    Right("GET", "/api/v1/benchmarks/{benchmark}", "viewer"),
    Right("GET", "/api/v1/benchmarks/{benchmark}/tasks", "viewer"),
    Right("GET", "/api/v1/benchmarks/{benchmark}/leaderboard", "viewer"),
    Right("POST", "/api/v1/benchmarks/{benchmark}/sync", "admin", {}),
    Right("DELETE", "/api/v1/benchmarks/{benchmark}", "admin"),
    Right("POST", "/api/v1/uploads", "admin"),
    Right("POST", "/api/v1/runs", "member", {}),
    Right("GET", "/api/v1/runs", "viewer"),
    Right("GET", "/api/v1/runs/{run}", "viewer"),
    Right("PATCH", "/api/v1/runs/{run}", "member", {}),
    Right("POST", "/api/v1/runs/{run}/stop", "member", {}),
    Right("POST", "/api/v1/runs/{run}/pause", "member", {}),
    Right("POST", "/api/v1/runs/{run}/resume", "member", {}),
    Right("POST", "/api/v1/runs/{run}/rerun", "member", {}),
    Right("POST", "/api/v1/runs/{run}/agents/{agent}/stop", "member", {}),
    Right("POST", "/api/v1/runs/{run}/results/{attempt}/retry", "member", {}),
    Right("GET", "/api/v1/runs/{run}/config", "viewer"),
    Right("GET", "/api/v1/runs/{run}/lock", "viewer"),
    Right("GET", "/api/v1/runs/{run}/logs", "viewer"),
    Right("GET", "/api/v1/runs/{run}/events", "viewer"),
    Right("GET", "/api/v1/runs/{run}/results", "viewer"),
    Right("GET", "/api/v1/runs/{run}/results/{attempt}", "viewer"),
    Right("GET", "/api/v1/runs/{run}/results/{attempt}/artifacts", "viewer"),
    Right("GET", "/api/v1/runs/{run}/results/{attempt}/artifacts/{phase}/{path}", "viewer"),
    Right("GET", "/api/v1/runs/{run}/outputs", "viewer"),
    Right("GET", "/api/v1/runs/{run}/outputs/{path}", "viewer"),
    Right("GET", "/api/v1/compare", "viewer", query={"runs": "none,either"}),
    Right("GET", "/api/v1/runners", "viewer"),
    Right("GET", "/api/v1/secrets", "viewer"),
    Right("PUT", "/api/v1/secrets/{name}", "member", {"value": "a"}),
    Right("PUT", "/api/v1/secrets/{name}", "admin", {"value": "a", "scope": "workspace"}),
    Right("DELETE", "/api/v1/secrets/{name}", "member"),
    Right("DELETE", "/api/v1/secrets/{name}", "admin", query={"scope": "workspace"}),
    Right("POST", "/api/v1/vault/rotations", "operator"),
]
WIRE = [
    Right("GET", "/verify", "anyone"),
    Right("DELETE", "/tokens/{token}", "anyone"),
    Right("GET", "/workspaces", "anyone"),
    Right("GET", "/quickstart", "viewer", query={"organizationId": "ID"}),
    Right("POST", "/quickstart", "viewer", {"organizationId": "ID", "intent": "eval"}),
    Right("POST", "/device/authorize", "nobody", {}),
    Right("POST", "/device/token", "nobody", {}),
    Right("GET", "/benchmarks", "viewer"),
    Right("GET", "/benchmarks/{key}", "viewer"),
    Right("GET", "/benchmark-runs", "viewer"),
    Right("POST", "/benchmark-runs", "member", {}),
    Right("GET", "/benchmark-runs/{run}", "viewer"),
    Right("POST", "/benchmark-runs/{run}/stop", "member", {}),
    Right("GET", "/benchmark-runs/{run}/logs", "viewer"),
    Right("GET", "/benchmark-runs/{run}/outputs/manifest", "viewer"),
    Right("POST", "/benchmark-runs/{run}/outputs/download-urls", "viewer", {"items": [{"path": "summary.csv"}]}),
    Right("GET", "/environment-secrets", "viewer"),
    Right("POST", "/environment-secrets", "member", {"name": "WIRE", "value": "a"}),
    Right("POST", "/environment-secrets", "admin", {"name": "WIRE", "value": "a", "scope": "workspace"}),
    Right("DELETE", "/environment-secrets", "member", {"name": "NONE"}),
    Right("DELETE", "/environment-secrets", "admin", {"name": "NONE", "scope": "workspace"}),
]
MINE_ALONE = ["PATCH ", "POST stop", "POST pause", "POST resume", "POST agents/0/stop", "POST results/0-0-1/retry"]
"""What a member may do to runs that they submitted."""


def test_every_route_is_in_the_table(site: Any, wire_routes: list[tuple[str, str]]) -> None:
    described = {(method.upper(), path) for path, item in site.contract.document["paths"].items() for method in item}
    assert {(right.method, right.path) for right in TABLE} == described
    assert {(right.method, PREFIX + right.path) for right in WIRE} == set(wire_routes)


def ask(client: httpx.Client, right: Right, path: str, **headers: str) -> int:
    answer = client.request(right.method, path, json=right.json, params=right.query, headers=headers)
    return answer.status_code


def expected(least: str) -> set[str]:
    if least in {"nobody", "anyone"}:
        return {*ROLES, "operator"} | ({"without a token"} if least == "nobody" else set())
    return {"operator"} if least == "operator" else set(ROLES[ROLES.index(least) :])


REFUSED = {401, 403}


@pytest.mark.parametrize("right", TABLE, ids=lambda right: f"{right.method} {right.path} {right.least}")
def test_the_api(right: Right, site: Any, ours: Any) -> None:
    named = {"token": "none", "user": "none", "agent": "0", "attempt": "0-0-1", "phase": "agent", "path": "a"}
    named |= {"run": "none", "benchmark": "none", "user_code": "NONE-NONE"}
    named["name"] = "RIGHTS" if "/secrets/" in right.path else ours.workspace
    path = right.path.format(**named)
    callers = {**ours.clients, "operator": site.operator}
    if right.least in ROLES:
        del callers["operator"]
    got = {name for name, client in callers.items() if ask(client, right, path) not in REFUSED}
    without = ask(site.client(None), right, path)
    if "/files/" in right.path:
        assert without == 403
        return
    assert got | ({"without a token"} if without != 401 else set()) == expected(right.least)


@pytest.mark.parametrize("right", WIRE, ids=lambda right: f"{right.method} {right.path} {right.least}")
def test_the_wire(right: Right, site: Any, ours: Any) -> None:
    workspace = ours.owner.get(f"/api/v1/workspaces/{ours.workspace}").json()["id"]
    filled = right._replace(
        json=right.json and {**right.json, **({"organizationId": workspace} if "organizationId" in right.json else {})},
        query=right.query and {"organizationId": workspace},
    )
    path = PREFIX + right.path.format(token="none", run="none", key="none")
    headers = {"X-Osmosis-Workspace": ours.workspace}
    got = {role for role in ROLES if ask(ours.clients[role], filled, path, **headers) not in REFUSED}
    without = ask(site.client(None), filled, path, **headers) not in REFUSED
    assert got == expected(right.least) - {"operator", "without a token"}
    assert without == (right.least == "nobody")


@pytest.mark.parametrize("action", MINE_ALONE)
def test_the_run_of_another_is_an_admins_to_change(action: str, ours: Any) -> None:
    method, _, rest = action.partition(" ")
    path = f"/api/v1/runs/{ours.things['run']}/{rest}".rstrip("/")
    refused = {role: ours.clients[role].request(method, path, json={}).status_code == 403 for role in ROLES}
    assert refused == {"viewer": True, "member": True, "admin": False, "owner": False}
