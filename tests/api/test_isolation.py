"""One workspace never sees another's names, counts or ids: for each route, what is foreign is as what isn't there."""

import base64
import itertools
import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from proctor.gateway.wire.errors import PREFIX

BY_CODE = {"/api/v1/device/{user_code}", "/api/v1/files/{token}/{name}"}
"""Who knows such an address has what it names, whoever that is."""
NEVER_ENDS = "/api/v1/runs/{run}/events"
NOBODY = uuid.uuid5(uuid.NAMESPACE_URL, "nobody").hex


type Request = Callable[[str], tuple[str, Any, Any]]
"""(path, query, body) with a value in its place."""


class Pair(NamedTuple):
    """Values of one place: of the foreign workspace, and one of the same form that is nobody's."""

    foreign: str
    nobodys: str


def places(path: str, foreign: Any) -> dict[str, list[Pair]]:
    """For each parameter of a path that names something; what is only looked up within it is in `WITHIN`."""
    things, users = foreign.things, foreign.users
    named = [Pair(foreign.workspace, "nowhere")]
    if "secret" in path:
        named = [Pair(things[key], f"NOBODYS_{key.upper()}") for key in ("secret_workspace", "secret_user")]
    return {
        "run": [Pair(things["run"], NOBODY), Pair(things["run_name"], "amber-nothing-999")],
        "benchmark": [Pair(things["benchmark"], NOBODY), Pair(things["title"], "no tasks")],
        "key": [Pair(things["benchmark"], NOBODY), Pair(things["key"], "nobodys/tasks")],
        "name": named,
        "user": [Pair(users["member"], NOBODY), Pair(foreign.emails["member"], "nobody@example.org")],
        "token": [Pair(foreign.token_ids["member"], NOBODY)],
    }


WITHIN = {"attempt": "0-0-1", "agent": "0", "phase": "agent", "path": "summary.csv"}
BODIES: dict[str, Any] = {
    "/members/{user}": {"role": "viewer"},
    "/members": {"email": "ours-viewer@example.org"},
    "/secrets/{name}": {"value": ""},
    "/download-urls": {"items": [{"path": "summary.csv"}]},
}


def body_of(path: str) -> Any:
    return next((body for end, body in BODIES.items() if path.endswith(end)), {})


def same(client: httpx.Client, method: str, pair: Pair, request: Request, headers: dict[str, str]) -> Iterator[str]:
    """What tells the two apart: nothing."""
    answers = []
    for value in pair:
        path, query, body = request(value)
        answer = client.request(method, path, params=query, json=body, headers=headers)
        text = answer.text
        for written in (value, quote(value, safe=""), json.dumps(value)[1:-1]):
            text = text.replace(written, "~")
        answers.append((answer.status_code, answer.headers.get("content-type"), text))
    if answers[0] != answers[1]:
        yield f"{method} {request('...')[0]}: {answers}"


def probed(routes: list[tuple[str, str]], ours: Any, foreign: Any) -> Iterator[tuple[str, Pair, Request]]:
    """(method, pair, request) for every place of every route, others being ours or what is within."""
    for method, path in routes:
        names = re.findall(r"{(\w+)}", path)
        found = places(path, foreign)
        assert set(names) <= {*found, *WITHIN}, f"say what is foreign at {path}"
        for name in (name for name in names if name in found):
            others = {
                other: WITHIN.get(other) or (ours.workspace if other == "name" else "none")
                for other in names
                if other != name
            }
            body = None if method in {"GET", "DELETE"} and "environment-secrets" not in path else body_of(path)
            yield from ((method, pair, _filling(path, name, others, body)) for pair in found[name])


def _at(path: str, made: Callable[[str], tuple[Any, Any]]) -> Request:
    return lambda value: (path, *made(value))


def _filling(path: str, name: str, others: dict[str, str], body: Any) -> Request:
    return lambda value: (path.format(**others, **{name: quote(value, safe="")}), None, body)


def test_places_in_the_paths_of_the_api(site: Any, ours: Any, foreign: Any) -> None:
    routes = [
        (method.upper(), path)
        for path, item in site.contract.document["paths"].items()
        for method in item
        if "{" in path and path not in BY_CODE
    ]
    assert len(routes) > 25
    told = [
        difference
        for method, pair, request in probed(routes, ours, foreign)
        for difference in same(ours.owner, method, pair, request, {})
    ]
    assert told == []


def test_places_in_the_paths_of_the_wire(ours: Any, foreign: Any, wire_routes: list[tuple[str, str]]) -> None:
    routes = [(method, path) for method, path in wire_routes if "{" in path]
    assert len(routes) > 6
    told = [
        difference
        for method, pair, request in probed(routes, ours, foreign)
        for difference in same(ours.owner, method, pair, request, {"X-Osmosis-Workspace": ours.workspace})
    ]
    assert told == []


def cursor(*key: int | str) -> str:
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def test_what_queries_and_bodies_name(ours: Any, foreign: Any) -> None:
    mine, things = ours.things["run"], foreign.things
    wire = {"X-Osmosis-Workspace": ours.workspace}
    of_runs = places("", foreign)["run"]
    of_benchmarks = [*places("", foreign)["benchmark"], Pair(things["key"], "nobodys/tasks")]
    secret = places("secret", foreign)["name"]

    def submit(benchmark: str, **more: Any) -> dict[str, Any]:
        return {"experiment_config": {"benchmark": benchmark}, "agents": [{"harness": "oracle"}], **more}

    def add(upload: str) -> dict[str, Any]:
        return {"key": "ours/another", "name": "another", "source": {"kind": "upload", "object": upload, "origin": "."}}

    uploads = [Pair(things["upload"], things["upload"][:-64] + "0" * 64)]
    uploads += [Pair(ours.things["upload"][:-64] + things["upload"][-64:], ours.things["upload"][:-64] + "0" * 64)]

    def with_secret(name: str) -> dict[str, Any]:
        return submit(ours.things["key"], secrets={"required": [name]})

    snapshot = foreign.owner.get(f"/api/v1/runs/{things['run']}/outputs").json()["snapshot"]
    item = {"path": "summary.csv"}
    cli, workspaces = PREFIX, Pair(things["id"], NOBODY)
    cases: list[tuple[str, str, list[Pair], Callable[[str], tuple[Any, Any]]]] = [
        ("GET", "/api/v1/runs", of_benchmarks, lambda value: ({"benchmark": value}, None)),
        ("GET", "/api/v1/runs", [Pair("foreign", "nobodys")], lambda value: ({"tag": value}, None)),
        ("GET", "/api/v1/benchmarks", of_benchmarks, lambda value: ({"key": value}, None)),
        ("GET", "/api/v1/compare", of_runs, lambda value: ({"runs": f"{mine},{value}"}, None)),
        ("GET", "/api/v1/tokens", [Pair(foreign.token_ids["owner"], NOBODY)], lambda v: ({"cursor": cursor(v)}, None)),
        ("GET", "/api/v1/tokens", [Pair(foreign.emails["owner"], "nobody@example.org")], lambda v: ({"user": v}, None)),
        (
            "GET",
            f"/api/v1/runs/{mine}/outputs/summary.csv",
            [Pair(snapshot, "1.1.AAAAAAAAAAAAAAAAAAAAAA")],
            lambda value: ({"snapshot": value}, None),
        ),
        ("POST", "/api/v1/benchmarks", uploads, lambda value: (None, add(value))),
        (
            "POST",
            f"/api/v1/benchmarks/{ours.things['benchmark']}/sync",
            uploads,
            lambda value: (None, {"source": add(value)["source"]}),
        ),
        ("POST", "/api/v1/runs", of_benchmarks, lambda value: (None, submit(value))),
        ("POST", "/api/v1/runs", secret, lambda value: (None, with_secret(value))),
        ("GET", f"{cli}/benchmark-runs", of_benchmarks, lambda value: ({"benchmark": value}, None)),
        ("GET", f"{cli}/quickstart", [workspaces], lambda value: ({"organizationId": value}, None)),
        ("POST", f"{cli}/quickstart", [workspaces], lambda value: (None, {"organizationId": value, "intent": "eval"})),
        ("POST", f"{cli}/benchmark-runs", of_benchmarks, lambda value: (None, submit(value))),
        ("POST", f"{cli}/benchmark-runs", secret, lambda value: (None, with_secret(value))),
        ("DELETE", f"{cli}/environment-secrets", secret, lambda value: (None, {"name": value, "scope": "workspace"})),
        (
            "POST",
            f"{cli}/benchmark-runs/{mine}/outputs/download-urls",
            [Pair(snapshot, "1.1.AAAAAAAAAAAAAAAAAAAAAA")],
            lambda value: (None, {"items": [{**item, "token": value}]}),
        ),
    ]
    told = [
        difference
        for method, path, pairs, made in cases
        for pair in pairs
        for difference in same(ours.owner, method, pair, _at(path, made), wire if cli in path else {})
    ]
    assert told == []


def test_lists_and_documents_hold_nothing_foreign(
    site: Any, ours: Any, foreign: Any, wire_routes: list[tuple[str, str]]
) -> None:
    """Whoever of us asks, for all that there is to read: those that name a place get ours."""
    things = ours.things
    named = {**WITHIN, **things, "name": ours.workspace, "attempt": things["identity"], "user_code": "NONE"}
    paths = [
        path.format(**named)
        for path, item in site.contract.document["paths"].items()
        if "get" in item and path not in BY_CODE and path != NEVER_ENDS
    ]
    run = things["run"]
    paths += [f"/api/v1/runs/{run}/outputs?types=all", f"/api/v1/compare?runs={run},{run}&agents=0,1"]
    wire = [path.format(**named) for method, path in wire_routes if method == "GET"]
    leaks, read = [], 0
    for client, path in itertools.product(ours.clients.values(), [*paths, *wire]):
        headers = {"X-Osmosis-Workspace": ours.workspace} if path.startswith(PREFIX) else {}
        answer = client.get(path, headers=headers)
        read += answer.status_code == 200
        leaks += [(path, word) for word in foreign.known if word in answer.text]
    assert leaks == []
    assert read > 100


@pytest.mark.parametrize("header", ["Proctor-Workspace", "X-Osmosis-Workspace", "X-Osmosis-Git"])
def test_the_name_of_a_foreign_workspace(
    header: str, site: Any, ours: Any, foreign: Any, wire_routes: list[tuple[str, str]]
) -> None:
    """On every route that reads, also where none is needed."""
    ok = site.operator.patch(f"/api/v1/workspaces/{foreign.workspace}", json={"repo": "foreign-org/bench"})
    assert ok.status_code == 200
    pair = (
        Pair("foreign-org/bench", "nowhere/bench") if header == "X-Osmosis-Git" else Pair(foreign.workspace, "nowhere")
    )
    named = {**WITHIN, **ours.things, "name": ours.workspace, "user": "none", "token": "none", "user_code": "NONE"}
    if header == "Proctor-Workspace":
        paths = [
            path
            for path, item in site.contract.document["paths"].items()
            if "get" in item and item["get"].get("security")
        ]
    else:
        paths = [path for method, path in wire_routes if method == "GET"]
    with site.client(ours.tokens["owner"]) as client:
        for path in (path.format(**named) for path in paths):
            query = {"organizationId": "none"} if "quickstart" in path else None
            answers = [client.get(path, params=query, headers={header: value}) for value in pair]
            assert [answer.status_code for answer in answers] == [403, 403], path
            texts = {answer.text.replace(value, "~") for answer, value in zip(answers, pair, strict=True)}
            assert len(texts) == 1, path
