"""Nothing of a workspace is told over the osmosis wire to who isn't in it."""

import json
import re
from typing import Any
from urllib.parse import quote

from proctor.contracts.manifest import Manifest
from proctor.gateway.access.tokens import token_hash
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.wire.router import build_router

CLI = "/api/cli"
KEY = "acme/custom@3"
SUBMIT: dict[str, Any] = {"experiment_config": {"benchmark": KEY}, "agents": [{"harness": "oracle", "env": {}}]}
FOREIGN: list[tuple[str, str, Any]] = [
    ("GET", "benchmarks/{}", None),
    ("GET", "benchmark-runs/{}", None),
    ("POST", "benchmark-runs/{}/stop", {}),
    ("GET", "benchmark-runs/{}/logs", None),
    ("GET", "benchmark-runs/{}/outputs/manifest", None),
    ("POST", "benchmark-runs/{}/outputs/download-urls", {"items": [{"path": "results.csv"}]}),
    ("POST", "benchmark-runs", {**SUBMIT, "experiment_config": {"benchmark": "<name>"}}),
    ("DELETE", "environment-secrets", {"name": "<name>", "scope": "workspace"}),
    ("DELETE", "tokens/{}", None),
    ("GET", "quickstart?organizationId={}", None),
    ("POST", "quickstart", {"organizationId": "<name>", "intent": "eval"}),
]
"""Each route that takes a name, with where the name goes."""
ALONE: set[tuple[str, str]] = {
    ("GET", "/benchmarks"),
    ("GET", "/benchmark-runs"),
    ("GET", "/environment-secrets"),
    ("GET", "/workspaces"),
}
"""Routes that list what the caller may see."""
NAMELESS: set[tuple[str, str]] = {
    ("GET", "/verify"),
    ("POST", "/environment-secrets"),
    ("POST", "/device/authorize"),
    ("POST", "/device/token"),
}


async def test_a_stranger_learns_nothing_of_a_workspace(osmosis: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await osmosis.add_benchmark(manifest, key=KEY)
    await osmosis.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await osmosis.client.post(f"{CLI}/benchmark-runs", json=SUBMIT)).json()
    secret = {"name": "THEIR_KEY", "value": "planted", "scope": "workspace"}
    assert (await osmosis.client.post(f"{CLI}/environment-secrets", json=secret)).status_code == 200
    token = (await osmosis.client.get(f"{CLI}/verify")).json()["token_id"]
    names = {
        "benchmarks/{}": [benchmark, KEY, f"Name of {KEY}"],
        "benchmark-runs": [benchmark, KEY],
        "environment-secrets": ["THEIR_KEY"],
        "tokens/{}": [token],
        "quickstart": [osmosis.workspace],
        "quickstart?organizationId={}": [osmosis.workspace],
    }
    await osmosis.database.execute("INSERT INTO gateway.users (id, name, email) VALUES ('eve', 'Eve', 'e@localhost')")
    await osmosis.database.execute("INSERT INTO gateway.workspaces (id, name) VALUES ('eves', 'eves')")
    await osmosis.database.execute(
        "INSERT INTO gateway.members (workspace, member, role) VALUES ('eves', 'eve', 'owner')"
    )
    await osmosis.database.execute(
        "INSERT INTO gateway.tokens (hash, id, holder, name) VALUES ($1, 'eves', 'eve', 'eves')",
        token_hash("eves-token"),
    )
    osmosis.client.headers.update({"Authorization": "Bearer eves-token", "X-Osmosis-Workspace": "eves"})

    async def answer(method: str, path: str, body: Any, name: str) -> tuple[int, str]:
        address = f"{CLI}/{path.format(quote(name, safe=''))}"
        content = json.dumps(body).replace("<name>", name) if body is not None else None
        headers = {"Content-Type": "application/json"}
        found = await osmosis.client.request(method, address, content=content, headers=headers)
        return found.status_code, found.text.replace(name, "NAME")

    for method, path, body in FOREIGN:
        for name in names.get(path, [run["id"], run["name"]]):
            there, not_there = [await answer(method, path, body, word) for word in (name, "NOTHING")]
            assert there[0] >= 400, (path, name)
            assert there == (not_there[0], not_there[1].replace("NOTHING", "NAME")), (path, name)
    for _, path in ALONE:
        told = (await osmosis.client.get(f"{CLI}{path}")).text
        assert not [
            name for name in (benchmark, run["id"], run["name"], "THEIR_KEY", osmosis.workspace) if name in told
        ]
    mine = (await osmosis.client.get(f"{CLI}/workspaces")).json()["workspaces"]
    assert [one["name"] for one in mine] == ["eves"]


def test_no_route_is_left_out_above() -> None:
    routes = {
        (str(method), re.sub(r"\{[^}]*\}", "{}", route.path.removeprefix(CLI)))
        for route in build_router(GatewaySettings()).routes
        for method in route.methods
        if method != "OPTIONS"
    }
    tried = {(method, f"/{path.partition('?')[0]}") for method, path, _ in FOREIGN}
    assert routes == tried | ALONE | NAMELESS
