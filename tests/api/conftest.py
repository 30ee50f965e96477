"""One platform for these tests, with two workspaces that must not see one another, and one to throw anything at."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis

import proctor.registry_sync
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.wire.router import build_router
from proctor.tasks import pack_dataset

CATALOGUE = Path(proctor.registry_sync.__file__).parent / "catalogue" / "first-steps"
TASKS = ("csv-totals", "fill-template")
ROLES = ("viewer", "member", "admin", "owner")


class Contract:
    """Holds every answer of a described route to the document, in which no object has more than it says."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = closed(document)
        self.schema = schemathesis.openapi.from_dict(self.document)
        self.routes = [
            (re.compile(re.sub(r"{[^}]*}", "[^/]+", path.replace("{path}", ".+")) + "/?"), method.upper(), path)
            for path, item in sorted(self.document["paths"].items(), key=lambda one: one[0].count("{"))
            for method in item
        ]
        self.seen: set[tuple[str, str, int]] = set()

    def check(self, answer: httpx.Response) -> None:
        request, path = answer.request, answer.request.url.raw_path.decode().partition("?")[0]
        route = next(
            (one for shape, method, one in self.routes if method == request.method and shape.fullmatch(path)), None
        )
        if route is None or answer.headers.get("content-type", "").startswith("text/event-stream"):
            return
        answer.read()
        self.seen.add((request.method, route, answer.status_code))
        responses = self.document["paths"][route][request.method.lower()]["responses"]
        assert str(answer.status_code) in responses, (request.method, path, answer.status_code, answer.text)
        self.schema[route][request.method].validate_response(answer)


def closed(node: Any) -> Any:
    """The document with nothing beyond the named properties in any object of an answer."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {key: closed(value) for key, value in node.items()}
    return {"additionalProperties": False, **made} if isinstance(node.get("properties"), dict) else made


@dataclass(frozen=True)
class Site:
    """`operator` is the client of the installation's owner, in the workspace `default`. What clients get is held to
    the `contract`."""

    url: str
    home: Path
    token: str
    contract: Contract

    @property
    def operator(self) -> httpx.Client:
        return self.client(self.token)

    def client(self, token: str | None, workspace: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(
            base_url=self.url,
            headers={**headers, **({"Proctor-Workspace": workspace} if workspace else {})},
            event_hooks={"response": [self.contract.check]},
            timeout=60,
        )


@dataclass(frozen=True)
class Tenant:
    """A workspace with a user, a token and a client for each role, and what its owner made there. `known` has all of
    its ids and names."""

    workspace: str
    users: dict[str, str]
    emails: dict[str, str]
    tokens: dict[str, str]
    token_ids: dict[str, str]
    clients: dict[str, httpx.Client]
    things: dict[str, str] = field(default_factory=dict)

    @property
    def owner(self) -> httpx.Client:
        return self.clients["owner"]

    @property
    def known(self) -> set[str]:
        return {*self.users.values(), *self.emails.values(), *self.token_ids.values(), *self.things.values()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until[Found](look: Callable[[], Found | None], seconds: float = 90) -> Found:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(httpx.TransportError):
            if found := look():
                return found
        assert time.monotonic() < deadline, "nothing within the time"
        time.sleep(0.1)


def ok(answer: httpx.Response) -> Any:
    assert answer.is_success, (answer.request.method, answer.request.url, answer.text)
    return answer.json() if answer.content else None


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`proctor up` without limits on how often one may ask."""
    place = tmp_path_factory.mktemp("api")
    home, log, port = place / "home", place / "up.log", _free_port()
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PROCTOR_")}
    limits = {f"PROCTOR_RATE_{name}": "0" for name in ("SIGN_IN", "TOKENS", "DEVICE", "SUBMITS")}
    argv = [sys.executable, "-m", "proctor.cli.main", "up", "--home", str(home), "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen([*argv, "--backend", "bubblewrap"], env={**clean, **limits}, stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        assert process.poll() is None, log.read_text()[-4000:]
        return httpx.get(f"{url}/readyz").status_code == 200

    try:
        until(ready)
        contract = Contract(httpx.get(f"{url}/openapi.json").json())
        yield Site(url, home, (home / "token").read_text().strip(), contract)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(log.read_text()[-4000:])


def _tenant(site: Site, workspace: str, *, operator_owns: bool = False) -> Tenant:
    users, emails, tokens, ids = {}, {}, {}, {}
    operator = site.operator
    for role in ROLES:
        emails[role] = f"{workspace}-{role}@example.org"
        person = {"name": f"{workspace} {role}", "email": emails[role], "operator": operator_owns and role == "owner"}
        users[role] = ok(operator.post("/api/v1/users", json=person))["id"]
        token = ok(operator.post("/api/v1/tokens", json={"name": f"{workspace}-{role}", "user": emails[role]}))
        tokens[role], ids[role] = token["token"], token["id"]
    made = ok(operator.post("/api/v1/workspaces", json={"name": workspace, "owner": emails["owner"]}))
    clients = {role: site.client(token, workspace) for role, token in tokens.items()}
    for role in ROLES[:-1]:
        member = {"email": emails[role], "role": role}
        ok(clients["owner"].post(f"/api/v1/workspaces/{workspace}/members", json=member))
    return Tenant(workspace, users, emails, tokens, ids, clients, {"id": made["id"]})


def _furnish(tenant: Tenant, folder: Path) -> None:
    """A benchmark, a run of it that has ended, secrets, a note. Every name begins with the workspace's."""
    name, owner, things = tenant.workspace, tenant.owner, tenant.things
    for task in TASKS:
        shutil.copytree(CATALOGUE / task, folder / task)
    (folder / TASKS[0] / "README.md").write_text(f"of {name}")
    upload = ok(
        owner.post("/api/v1/uploads", content=pack_dataset(folder), headers={"Content-Type": "application/gzip"})
    )
    source = {"kind": "upload", "object": upload["object"], "origin": f"{name}-tasks"}
    things["upload"], things["key"], things["title"] = upload["object"], f"{name}/tasks", f"{name} tasks"
    added = ok(owner.post("/api/v1/benchmarks", json={"key": things["key"], "name": things["title"], "source": source}))
    things["benchmark"] = added["id"]
    until(lambda: ok(owner.get(f"/api/v1/benchmarks/{added['id']}"))["status"] == "ready")
    for secret, scope in ((f"{name.upper()}_SHARED", "workspace"), (f"{name.upper()}_OWN", "user")):
        ok(owner.put(f"/api/v1/secrets/{secret}", json={"value": "kept", "scope": scope}))
        things[f"secret_{scope}"] = secret
    submit = {
        "experiment_config": {"benchmark": things["key"]},
        "agents": [
            {"name": f"{name}-oracle", "harness": "oracle"},
            {"name": f"{name}-none", "harness": "command", "env": {"PROCTOR_COMMAND": "exit 3"}},
        ],
    }
    run = ok(owner.post("/api/v1/runs", json=submit, headers={"Idempotency-Key": f"{name}-first"}))
    things["run"], things["run_name"] = run["id"], run["name"]
    ok(owner.patch(f"/api/v1/runs/{run['id']}", json={"note": f"{name} note", "tags": [name]}))


def _ended(tenant: Tenant) -> None:
    run = f"/api/v1/runs/{tenant.things['run']}"
    until(lambda: ok(tenant.owner.get(run))["cleaned_at"])
    tenant.things["identity"] = ok(tenant.owner.get(f"{run}/results"))["items"][0]["identity"]


@pytest.fixture(scope="package")
def target(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Tenant:
    """Whose owner is an operator too, so that every route lets it in."""
    made = _tenant(site, "target", operator_owns=True)
    _furnish(made, tmp_path_factory.mktemp("target"))
    _ended(made)
    return made


@pytest.fixture(scope="package")
def tenants(site: Site, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tenant, Tenant]:
    """The caller's and the foreign one, each with a run that has ended."""
    made = (_tenant(site, "ours"), _tenant(site, "foreign"))
    for tenant in made:
        _furnish(tenant, tmp_path_factory.mktemp(tenant.workspace))
    for tenant in made:
        _ended(tenant)
    return made


@pytest.fixture
def ours(tenants: tuple[Tenant, Tenant]) -> Tenant:
    return tenants[0]


@pytest.fixture
def foreign(tenants: tuple[Tenant, Tenant]) -> Tenant:
    return tenants[1]


@pytest.fixture(scope="package")
def wire_routes() -> list[tuple[str, str]]:
    """(method, path) of each, by the code: they are in no document."""
    return [
        (method, re.sub(r":\w+}", "}", route.path))
        for route in build_router(GatewaySettings()).routes
        for method in sorted(route.methods - {"OPTIONS"})
    ]
