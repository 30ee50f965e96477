"""The osmosis wire: who may ask for what, versions, errors, and the sign-in of devices."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from proctor.gateway.access.tokens import token_hash
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.wire.scope import WorkspaceScope, read_scope
from proctor.gateway.wire.versions import judge
from proctor.service.errors import Invalid

CLI = "/api/cli"
LISTS = ("benchmarks", "benchmark-runs")


def scoped(workspace: str | None = None, git: str | None = None) -> dict[str, str]:
    headers = {"X-Osmosis-Workspace": workspace, "X-Osmosis-Git": git}
    return {name: value for name, value in headers.items() if value is not None}


SCOPES: list[tuple[dict[str, str], int, str]] = [
    ({}, 400, "GIT_SCOPE_HEADER_REQUIRED"),
    (scoped("w", "acme/bench"), 400, "WORKSPACE_SCOPE_HEADER_CONFLICT"),
    (scoped(git="acme"), 400, "GIT_SCOPE_HEADER_INVALID"),
    (scoped(git="acme/bench/x"), 400, "GIT_SCOPE_HEADER_INVALID"),
    (scoped("nowhere"), 403, "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"),
    (scoped("other"), 403, "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"),
    (scoped(""), 403, "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"),
    (scoped(git="acme/nowhere"), 403, "GIT_REPOSITORY_ACCESS_DENIED"),
    (scoped(git="acme/others"), 403, "GIT_REPOSITORY_ACCESS_DENIED"),
]


async def test_a_scope_is_exactly_one_workspace_of_the_caller(osmosis: Any) -> None:
    await osmosis.database.execute(
        "INSERT INTO gateway.workspaces (id, name, repo) VALUES ('other', 'other', 'acme/others')"
    )
    await osmosis.database.execute(
        "UPDATE gateway.workspaces SET repo = 'acme/bench' WHERE name = $1", osmosis.workspace
    )
    workspace = osmosis.client.headers.pop("X-Osmosis-Workspace")
    told = [
        (headers, answer.status_code, answer.json()["code"])
        for headers, _, _ in SCOPES
        for answer in [await osmosis.client.get(f"{CLI}/benchmarks", headers=headers)]
    ]
    assert told == SCOPES
    for name in LISTS:
        for headers in (scoped(workspace), scoped(git="acme/bench"), scoped(git="Acme/Bench")):
            answer = await osmosis.client.get(f"{CLI}/{name}", headers=headers)
            empty = {"total_count": 0, "has_more": False, "next_offset": None}
            assert answer.json() == {name.replace("-", "_"): [], **empty}, headers
    foreign, unknown = [
        await osmosis.client.get(f"{CLI}/benchmarks", headers=scoped(name)) for name in ("other", "nowhere")
    ]
    assert foreign.json() == unknown.json()


async def test_a_bad_token_is_told_by_its_code(osmosis: Any) -> None:
    for name, column in (("expired", "expires_at"), ("revoked", "revoked_at")):
        await osmosis.database.execute(
            f"INSERT INTO gateway.tokens (hash, id, holder, name, {column}) "
            "VALUES ($1, $2, 'owner', $2, now() - interval '1 second')",
            token_hash(name),
            name,
        )
    del osmosis.client.headers["Authorization"]
    expected = {
        None: "AUTH_HEADER_MISSING",
        "Bearer": "TOKEN_MISSING",
        "Bearer guess": "TOKEN_INVALID",
        "Bearer expired": "TOKEN_EXPIRED",
        "Bearer revoked": "TOKEN_REVOKED",
    }
    for path in ("verify", *LISTS):
        told = {}
        for header in expected:
            answer = await osmosis.client.get(f"{CLI}/{path}", headers={"Authorization": header} if header else {})
            assert answer.status_code == 401
            assert set(answer.json()) == {"error", "code", "issues"}
            told[header] = answer.json()["code"]
        assert told == expected


ERRORS: list[tuple[str, str, dict[str, Any], int]] = [
    ("GET", "nowhere", {}, 404),
    ("GET", "", {}, 404),
    ("GET", "datasets", {}, 404),
    ("GET", "training-runs/x/logs", {}, 404),
    ("GET", "models/lora", {}, 404),
    ("GET", "benchmarks/none", {}, 404),
    ("GET", "benchmarks/a%00b", {}, 404),
    ("GET", "benchmark-runs/none", {}, 404),
    ("GET", "benchmark-runs/a%2Fb/logs", {}, 404),
    ("GET", "benchmark-runs/none/logs", {}, 404),
    ("POST", "benchmark-runs/none/stop", {"json": {}}, 404),
    ("PUT", "benchmarks", {}, 405),
    ("GET", "benchmarks?limit=51", {}, 400),
    ("GET", "benchmarks?limit=0", {}, 400),
    ("GET", "benchmark-runs?offset=-1", {}, 400),
    ("GET", "benchmark-runs?offset=99999999999999999999", {}, 400),
    ("POST", "benchmark-runs", {"content": b"{"}, 400),
    ("POST", "benchmark-runs", {"content": b"[]"}, 400),
    ("POST", "benchmark-runs", {"content": b'"\xed\xa0\x80"'}, 400),
    ("POST", "benchmark-runs", {"content": b"x" * (4 * 1024**2 + 1)}, 413),
    ("POST", "benchmark-runs", {"content": b"{}", "headers": {"Content-Type": "text/plain"}}, 415),
    ("POST", "quickstart", {"json": {"organizationId": "default", "intent": "rest"}}, 400),
    ("POST", "quickstart", {"json": {"organizationId": "nowhere", "intent": "eval"}}, 403),
    ("GET", "quickstart?organizationId=nowhere", {}, 403),
    ("GET", "quickstart", {}, 400),
    ("DELETE", "tokens/none", {}, 404),
    ("POST", "device/authorize", {"json": {"deviceName": "a\u0007b"}}, 400),
    ("POST", "device/token", {"json": {}}, 400),
    ("POST", "device/token", {"json": {"device_code": "guess"}}, 400),
]


async def test_every_error_has_the_shape_that_the_command_reads(osmosis: Any) -> None:
    for method, path, options, status in ERRORS:
        answer = await osmosis.client.request(method, f"{CLI}/{path}" if path else CLI, **options)
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"].startswith("application/json"), path
        body = answer.json()
        assert body["error"] and "detail" not in body and "title" not in body, path
        assert all(issue["key"] and issue["message"] for issue in body["issues"]), path
    assert "training runs" in (await osmosis.client.get(f"{CLI}/training-runs")).json()["error"]


async def test_no_answer_redirects(osmosis: Any) -> None:
    for method, path in (("GET", "benchmarks/"), ("POST", "benchmark-runs/"), ("POST", "quickstart/")):
        answer = await osmosis.client.request(method, f"{CLI}/{path}", json={})
        assert answer.status_code in {200, 400}, path


VERSIONS: list[tuple[str | None, str | None]] = [
    (None, None),
    ("dev", None),
    ("0.2.9", "unsupported"),
    ("0.2", "unsupported"),
    ("0.3", "upgrade_available"),
    ("0.3.0rc1", "upgrade_available"),
    ("0.3.7", "upgrade_available"),
    ("0.3.8", "current"),
    ("0.3.8.0", "current"),
    ("0.3.10", "current"),
    ("1.0", "current"),
]


def test_versions() -> None:
    verdicts = [(version, judge(version, "0.3.0", "0.3.8")) for version, _ in VERSIONS]
    assert [(version, verdict and verdict.status) for version, verdict in verdicts] == VERSIONS


async def test_the_verdict_on_a_version_is_on_good_answers(osmosis: Any) -> None:
    status, message = "x-osmosis-version-status", "x-osmosis-version-message"
    current = await osmosis.client.get(f"{CLI}/verify")
    assert (current.headers[status], message in current.headers) == ("current", False)
    old = await osmosis.client.get(f"{CLI}/verify", headers={"X-Osmosis-CLI-Version": "0.3.1"})
    assert old.headers[status] == "upgrade_available"
    assert "0.3.8" in old.headers[message]
    for method, path in (("GET", "verify"), ("POST", "device/authorize")):
        refused = await osmosis.client.request(method, f"{CLI}/{path}", headers={"X-Osmosis-CLI-Version": "0.2.0"})
        assert refused.status_code == 426
        assert refused.json()["status"] == "unsupported"
        assert refused.json()["message"] == refused.json()["error"]


async def test_who_the_caller_is(osmosis: Any) -> None:
    await osmosis.database.execute(
        "UPDATE gateway.workspaces SET repo = 'acme/bench' WHERE name = $1", osmosis.workspace
    )
    del osmosis.client.headers["X-Osmosis-Workspace"]
    plain = (await osmosis.client.get(f"{CLI}/verify")).json()
    assert (plain["user"]["id"], plain["user"]["email"], plain["workspace"]) == ("owner", "owner@localhost", None)
    expires = datetime.fromisoformat(plain["expires_at"])
    assert timedelta(days=89) < expires - datetime.now(UTC) < timedelta(days=91)
    bound = (await osmosis.client.get(f"{CLI}/verify", headers=scoped(git="acme/bench"))).json()
    assert bound["workspace"] == {"id": osmosis.workspace, "name": osmosis.workspace, "role": "owner"}
    refused = await osmosis.client.get(f"{CLI}/verify", headers=scoped(git="acme/nowhere"))
    assert (refused.status_code, refused.json()["code"]) == (403, "GIT_REPOSITORY_ACCESS_DENIED")

    listed = (await osmosis.client.get(f"{CLI}/workspaces")).json()["workspaces"]
    mine = {"id": osmosis.workspace, "name": osmosis.workspace, "role": "owner", "has_billing_setup": True}
    assert listed[1] == {**mine, "connected_repo": {"id": "acme/bench", "repo_full_name": "acme/bench"}}
    assert (listed[0]["name"], listed[0]["connected_repo"]) == ("default", None)

    params = {"organizationId": osmosis.workspace}
    before = (await osmosis.client.get(f"{CLI}/quickstart", params=params)).json()
    assert before == {"repo": {"connected": True, "full_name": "acme/bench"}, "billing_ready": True, "completed": False}
    for _ in range(2):
        body = {**params, "intent": "benchmark"}
        assert (await osmosis.client.post(f"{CLI}/quickstart", json=body)).status_code == 200
    assert (await osmosis.client.get(f"{CLI}/quickstart", params=params)).json()["completed"]
    assert (await osmosis.client.delete(f"{CLI}/tokens/{plain['token_id']}")).status_code == 404, "the home's stays"


async def begin(osmosis: Any) -> dict[str, Any]:
    answer = await osmosis.client.post(f"{CLI}/device/authorize", json={"deviceName": "laptop"})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def poll(osmosis: Any, codes: dict[str, Any]) -> tuple[int, Any]:
    """Without a token, as the command does; the stored time of the last poll lies back far enough for the next."""
    answer = await osmosis.client.post(
        f"{CLI}/device/token", json={"device_code": codes["device_code"]}, headers={"Authorization": ""}
    )
    return answer.status_code, answer.json().get("error") or answer.json()


async def wait_out(osmosis: Any, seconds: int) -> None:
    await osmosis.database.execute(
        "UPDATE gateway.device_codes SET polled_at = polled_at - make_interval(secs => $1)", seconds
    )


async def test_a_device_gets_its_token_once_when_somebody_approves(osmosis: Any) -> None:
    codes = await begin(osmosis)
    assert isinstance(codes["expires_in"], int) and isinstance(codes["interval"], int)
    assert codes["verification_uri_complete"] == f"{codes['verification_uri']}?user_code={codes['user_code']}"
    page = await osmosis.client.get("/device", params={"user_code": codes["user_code"]}, headers={"Authorization": ""})
    assert f"proctor device approve {codes['user_code']}" in page.text
    assert "rm" not in (await osmosis.client.get("/device", params={"user_code": "ABCD-EFGH; rm x"})).text
    stored = str(await osmosis.database.fetch("SELECT * FROM gateway.device_codes"))
    assert codes["device_code"] not in stored
    assert await poll(osmosis, codes) == (400, "authorization_pending")
    assert await poll(osmosis, codes) == (400, "slow_down")
    await wait_out(osmosis, 6)
    assert await poll(osmosis, codes) == (400, "slow_down"), "the interval is 5 s longer now"
    await wait_out(osmosis, 16)
    assert await poll(osmosis, codes) == (400, "authorization_pending")

    typed = codes["user_code"].lower().replace("-", "")
    shown = (await osmosis.client.get(f"/api/v1/device/{typed}")).json()
    assert (shown["user_code"], shown["device_name"], shown["approved"]) == (codes["user_code"], "laptop", None)
    crooked = await osmosis.client.post(f"/api/v1/device/{typed}", json={"approve": "yes"})
    assert crooked.status_code == 400
    approved = await osmosis.client.post(f"/api/v1/device/{typed}", json={"approve": True})
    assert (approved.status_code, approved.json()["approved"]) == (200, True)
    again = await osmosis.client.post(f"/api/v1/device/{typed}", json={"approve": False})
    assert again.status_code == 409

    polled = await asyncio.gather(*(poll(osmosis, codes) for _ in range(4)))
    ((_, granted),) = [answer for answer in polled if answer[0] == 200]
    assert polled.count((400, "invalid_grant")) == 3
    assert granted["user"]["email"] == "owner@localhost"
    assert datetime.fromisoformat(granted["expires_at"]) > datetime.now(UTC) + timedelta(days=89)
    assert await poll(osmosis, codes) == (400, "invalid_grant")
    headers = {"Authorization": f"Bearer {granted['token']}"}
    assert (await osmosis.client.get(f"{CLI}/verify", headers=headers)).json()["token_id"] == granted["token_id"]
    assert (await osmosis.client.delete(f"{CLI}/tokens/{granted['token_id']}", headers=headers)).status_code == 204
    assert (await osmosis.client.get(f"{CLI}/verify", headers=headers)).json()["code"] == "TOKEN_REVOKED"
    audited = await osmosis.database.fetch("SELECT actor, target FROM gateway.audit WHERE action = 'token.created'")
    assert [tuple(row) for row in audited] == [("owner", granted["token_id"])]


async def test_a_device_is_let_in_no_longer_than_who_let_it_in(osmosis: Any) -> None:
    codes, ends = await begin(osmosis), datetime.now(UTC) + timedelta(hours=1)
    await osmosis.database.execute("UPDATE gateway.tokens SET expires_at = $1", ends)
    await osmosis.client.post(f"/api/v1/device/{codes['user_code']}", json={"approve": True})
    status, granted = await poll(osmosis, codes)
    assert (status, datetime.fromisoformat(granted["expires_at"])) == (200, ends)


async def test_a_device_that_is_denied_or_late_gets_none(osmosis: Any) -> None:
    denied, late = await begin(osmosis), await begin(osmosis)
    await osmosis.client.post(f"/api/v1/device/{denied['user_code']}", json={"approve": False})
    assert await poll(osmosis, denied) == (400, "access_denied")
    await osmosis.database.execute(
        "UPDATE gateway.device_codes SET expires_at = now() WHERE user_code = $1", late["user_code"]
    )
    assert (await osmosis.client.post(f"/api/v1/device/{late['user_code']}", json={"approve": True})).status_code == 404
    assert await poll(osmosis, late) == (400, "expired_token")
    assert (await osmosis.client.post("/api/v1/device/NONE-SUCH", json={"approve": True})).status_code == 404


@pytest.mark.parametrize("git", ["acme/bench", "Acme/Bench", "a-b/c.d_e-f"])
def test_repositories(git: str) -> None:
    assert read_scope(None, git, required=True) == WorkspaceScope(None, git.lower())


@pytest.mark.parametrize("git", ["", "/", "acme", "acme/", "-a/b", "a/b/c", "a/b c", "a/\u00e9"])
def test_what_is_no_repository(git: str) -> None:
    with pytest.raises(Invalid, match="owner/repository"):
        read_scope(None, git, required=False)


async def test_what_goes_wrong_on_our_side_is_told_without_its_inside(osmosis: Any) -> None:
    await osmosis.database.execute("DROP SCHEMA leaderboard CASCADE")
    away = await osmosis.client.get(f"{CLI}/benchmarks")
    assert (away.status_code, away.json()["code"], away.headers["retry-after"]) == (503, "UNAVAILABLE", "2")
    await osmosis.database.execute("DROP TABLE gateway.device_codes")
    await osmosis.database.execute("CREATE TABLE gateway.device_codes (number int)")
    broken = await osmosis.client.post(f"{CLI}/device/token", json={"device_code": "x"})
    assert (broken.status_code, broken.json()["code"]) == (500, "INTERNAL")
    assert broken.json()["incident"] in broken.json()["error"]
    assert "column" not in broken.text


def test_addresses_begin_where_people_reach_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GatewaySettings(port=9000).shown_url == "http://127.0.0.1:9000"
    monkeypatch.setenv("PROCTOR_PUBLIC_URL", "https://bench.example.org/proctor/")
    assert GatewaySettings().shown_url == "https://bench.example.org/proctor"
    monkeypatch.setenv("PROCTOR_PUBLIC_URL", "bench.example.org")
    with pytest.raises(ValidationError):
        GatewaySettings()


async def test_who_asks_too_often_is_told_when_to_come_again(
    start_gateway: Any, nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_RATE_DEVICE", "2")
    monkeypatch.setenv("PROCTOR_RATE_SUBMITS", "1")
    async with start_gateway(nats_url) as gateway:
        scope = scoped(gateway.workspace)
        for path, allowed in (("device/authorize", 2), ("benchmark-runs", 1)):
            answers = [await gateway.client.post(f"{CLI}/{path}", json={}, headers=scope) for _ in range(allowed + 1)]
            assert 429 not in {answer.status_code for answer in answers[:-1]}
            assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "RATE_LIMITED")
            assert int(answers[-1].headers["retry-after"]) > 0
