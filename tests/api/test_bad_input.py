"""What nobody should send, to the API and to the wire: each has its answer, and none of them is a 5xx."""

import http.client
import json
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

JSON = {"Content-Type": "application/json"}
DEEP = b"[" * 10_000 + b"]" * 10_000
API, CLI = "/api/v1/runs", "/api/cli/benchmark-runs"


class Bad(NamedTuple):
    body: bytes
    headers: dict[str, str]
    status: int
    told: str


BODIES = {
    "deep": Bad(DEEP, JSON, 400, "the body isn't JSON: recursion limit exceeded"),
    "deep within": Bad(b'{"experiment_config": %s}' % DEEP, JSON, 400, "the body isn't JSON: recursion limit exceeded"),
    "deep, without an end": Bad(b'{"a":' * 10_000, JSON, 400, "the body isn't JSON: recursion limit exceeded"),
    "a lone surrogate": Bad(rb'{"experiment_config": {"benchmark": "\ud800"}}', JSON, 400, "the body isn't JSON"),
    "a surrogate in a key": Bad(rb'{"\udfff": 1}', JSON, 400, "the body isn't JSON"),
    "not UTF-8": Bad(b'{"experiment_config": "\xff"}', JSON, 400, "the body isn't JSON: invalid unicode"),
    "another encoding": Bad('{"agents": []}'.encode("utf-16"), JSON, 400, "the body isn't JSON"),
    "a raw NUL": Bad(b'{"experiment_config": {"benchmark": "a\0b"}}', JSON, 400, "control character"),
    "a NUL": Bad(rb'{"experiment_config": {"benchmark": "a\u0000b"}}', JSON, 400, "the control character"),
    "a NUL in a key": Bad(rb'{"a\u0000b": 1}', JSON, 400, "isn't a part of a submit"),
    "not an object": Bad(b'["agents"]', JSON, 400, "the body must be a JSON object"),
    "not a number": Bad(b'{"execution_config": {"timeout_multiplier": NaN}}', JSON, 400, "must be a finite number"),
    "a huge number": Bad(b'{"execution_config": {"attempts_per_task": 1%s}}' % (b"0" * 5000), JSON, 400, ""),
    "a form": Bad(b"agents=1", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json"),
    "XML": Bad(b"<a/>", {"Content-Type": "application/xml"}, 415, "application/json"),
    "no type": Bad(b'{"agents": []}', {}, 415, "application/json"),
    "a type that isn't one": Bad(b'{"agents": []}', {"Content-Type": "json"}, 415, "application/json"),
    "too large": Bad(b'{"a": "%s"}' % (b"a" * 5 * 1024**2), JSON, 413, "larger"),
}


def problem_of(answer: Any, status: int) -> str:
    """The text of an error, which each side has in its own shape."""
    body = json.loads(answer.text if hasattr(answer, "text") else answer)
    assert "detail" in body or ({"error", "code", "issues"} <= set(body) and body["error"])
    issues = "; ".join(f"{issue['key']}: {issue['message']}" for issue in body["issues"])
    return f"{body['error']}; {issues}"


@pytest.mark.parametrize("path", [API, CLI])
@pytest.mark.parametrize("name", BODIES)
def test_bodies(path: str, name: str, ours: Any) -> None:
    bad = BODIES[name]
    headers = {**bad.headers, "X-Osmosis-Workspace": ours.workspace}
    answer = ours.owner.post(path, content=bad.body, headers=headers)
    assert answer.status_code == bad.status, answer.text
    assert bad.told in problem_of(answer, bad.status)
    assert answer.headers["content-type"] == ("application/problem+json" if path == API else "application/json")


def raw(site: Any, tenant: Any, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """As it is written: no client between that tidies the path up."""
    place = urlsplit(site.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    connection.putrequest(method, target, skip_accept_encoding=True)
    common = {"Authorization": f"Bearer {tenant.tokens['owner']}", "X-Osmosis-Workspace": tenant.workspace}
    for name, value in {**common, **headers}.items():
        connection.putheader(name.replace("_", "-"), value.encode("latin-1"))
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read().decode()


TRAVERSALS = [
    "..",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "%5c%5chost%5cshare",
    "..%252f..%252fetc%252fpasswd",
    "%c0%ae%c0%ae%c0%af",
    "%2fetc%2fpasswd",
    "a%00.txt",
    "..;",
    "%0d%0aX-Injected:%201",
    "%ff%fe",
    "%ed%a0%80",
    "a" * 20_000,
]


def test_paths_lead_nowhere_but_to_what_is_there(site: Any, ours: Any, wire_routes: list[tuple[str, str]]) -> None:
    """In each place of each route, with the others being ours."""
    described = [(method.upper(), path) for path, item in site.contract.document["paths"].items() for method in item]
    things = {**ours.things, "attempt": ours.things["identity"], "phase": "agent", "name": ours.workspace, "agent": "0"}
    wrong, tried = [], 0
    for method, path in [*described, *wire_routes]:
        names = re.findall(r"{(\w+)}", path)
        for place in names:
            for text in TRAVERSALS:
                others = {name: things.get(name, "none") for name in names}
                target = path.format(**{**others, place: text})
                status, headers, body = raw(site, ours, method, target, Content_Length="0")
                tried += 1
                listed = status == 200 and text in {"..", "%2e%2e"}
                fine = status in {400, 403, 404, 405, 415} or listed or (status, "device" in path) == (200, True)
                if not fine or "root:" in body or "x-injected" in headers:
                    wrong.append((method, target[:200], status, body[:200]))
    assert wrong == []
    assert tried > 500


METHODS = {
    ("PUT", API): 405,
    ("DELETE", API): 405,
    ("PATCH", API): 405,
    ("TRACE", API): 405,
    ("PROPFIND", API): 405,
    ("HEAD", API): 405,
    ("PUT", CLI): 405,
    ("TRACE", CLI): 405,
    ("DELETE", "/api/v1/runs/none/lock"): 405,
    ("POST", "/api/v1/whoami"): 405,
}


def test_methods_are_what_they_say(site: Any, ours: Any) -> None:
    got = {}
    for method, path in METHODS:
        status, headers, _ = raw(site, ours, method, path, Content_Length="0")
        got[method, path] = status
        assert "GET" in headers["allow"], (method, path)
    assert got == METHODS
    override = {"X_HTTP_Method_Override": "DELETE", "X_Method_Override": "DELETE"}
    status, _, _ = raw(site, ours, "GET", f"/api/v1/benchmarks/{ours.things['benchmark']}?_method=DELETE", **override)
    assert status == 200
    assert ours.owner.get(f"/api/v1/benchmarks/{ours.things['benchmark']}").status_code == 200


QUERIES = {
    "limit=1&limit=2": 400,
    "limit=0": 400,
    "limit=201": 400,
    "limit=1e2": 200,
    "limit=%00": 400,
    "limit[]=1": 200,
    "cursor=" + "a" * 2000: 400,
    "benchmark=" + "a" * 50_000: 200,
    "&".join(f"a{number}=1" for number in range(5000)): 200,
    "status=finished&status=failed": 200,
    "status=finished,failed": 400,
    "%": 200,
    "=": 200,
    "benchmark=%ff": 200,
    "benchmark=%ed%a0%80": 200,
}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[:30])
def test_queries(query: str, site: Any, ours: Any) -> None:
    status, _, body = raw(site, ours, "GET", f"{API}?{query}")
    assert status == QUERIES[query], body[:500]


HEADERS: dict[tuple[str, str], int] = {
    ("Proctor-Workspace", "\xff\xfe"): 403,
    ("Proctor-Workspace", ""): 403,
    ("Proctor-Workspace", "a" * 10_000): 403,
    ("Proctor-Workspace", "ours, foreign"): 403,
    ("Authorization", "Bearer \xff"): 401,
    ("Authorization", "Bearer " + "a" * 20_000): 401,
    ("Accept", "text/html;q=\xff"): 200,
    ("Accept-Encoding", "gzip;q=x"): 200,
    ("X-Forwarded-For", "\xff, 1.2.3.4"): 200,
    ("Range", "bytes=0-"): 200,
    ("If-None-Match", "\xff"): 200,
    ("Host", "elsewhere.example.org"): 200,
}


@pytest.mark.parametrize(("name", "value"), HEADERS, ids=lambda text: text[:20])
def test_headers(name: str, value: str, site: Any, ours: Any) -> None:
    answered = raw(site, ours, "GET", API, **{"Proctor_Workspace": ours.workspace, name.replace("-", "_"): value})
    assert answered[0] == HEADERS[name, value], answered


def test_nothing_that_was_sent_becomes_a_header(site: Any, ours: Any) -> None:
    """What comes back in one: the run's place, its name, and the names of files."""
    run = ours.things["run"]
    key = "line\tbreak; filename=x"
    submit = {"experiment_config": {"benchmark": ours.things["key"]}, "agents": [{"harness": "nop"}]}
    made = ours.owner.post(API, json=submit, headers={"Idempotency-Key": key})
    assert made.status_code == 201
    assert re.fullmatch(r"/api/v1/runs/[0-9a-f]{32}", made.headers["location"])
    config = ours.owner.get(f"{API}/{run}/config")
    assert re.fullmatch(r'inline; filename="[a-z0-9-]+\.toml"', config.headers["content-disposition"])
    entry = ours.owner.get(f"{API}/{run}/outputs").json()["items"][0]
    address = urlsplit(entry["url"]).path.rpartition("/")[0]
    for name in ("a%0d%0aX-Injected:%201", "%22;%20filename=%22evil.html", "..%2f..%2fevil"):
        status, headers, _ = raw(site, ours, "GET", f"{address}/{name}")
        assert (status, "x-injected" in headers) == (404 if "%2f" in name else 200, False)
        if status == 200:
            assert headers["content-disposition"] == "attachment; filename*=UTF-8''summary.csv"


def test_tokens_that_are_no_good_any_more(site: Any, ours: Any) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    made = {
        "TOKEN_EXPIRED": ours.owner.post("/api/v1/tokens", json={"name": "short", "expires_at": soon}).json(),
        "TOKEN_REVOKED": ours.owner.post("/api/v1/tokens", json={"name": "revoked"}).json(),
    }
    assert ours.owner.delete(f"/api/v1/tokens/{made['TOKEN_REVOKED']['id']}").status_code == 204
    time.sleep(1.1)
    tokens = {code: token["token"] for code, token in made.items()} | {"TOKEN_INVALID": "proctor_" + "a" * 43}
    for code, token in tokens.items():
        with site.client(token, ours.workspace) as client:
            for path in (API, CLI, "/api/v1/whoami", "/api/cli/verify"):
                answer = client.get(path, headers={"X-Osmosis-Workspace": ours.workspace})
                assert (answer.status_code, answer.json()["code"]) == (401, code), path
                assert answer.headers["www-authenticate"] == "Bearer"
