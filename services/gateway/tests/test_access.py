"""Tokens, workspaces, roles, and what every answer carries."""

import stat
from typing import Any

import pytest

from proctor.gateway.access.tokens import token_hash


async def test_the_owners_token_is_a_private_file(gateway: Any) -> None:
    path = gateway.settings.home / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = path.read_text().strip()
    stored = await gateway.database.fetch("SELECT * FROM gateway.tokens")
    assert token not in str(stored)
    answer = await gateway.client.get("/api/v1/whoami", headers={"Proctor-Workspace": "default"})
    assert answer.json()["user"]["id"] == "owner"
    assert answer.json()["workspace"] == {"id": "default", "name": "default", "role": "owner"}
    names = [item["name"] for item in (await gateway.client.get("/api/v1/workspaces")).json()["items"]]
    assert names == ["default", gateway.workspace]


TOKENS: dict[str | None, str] = {
    None: "AUTH_HEADER_MISSING",
    "Basic b3duZXI6": "TOKEN_MISSING",
    "Bearer": "TOKEN_MISSING",
    "Bearer proctor_guess": "TOKEN_INVALID",
    "Bearer expired-token-0123456789": "TOKEN_EXPIRED",
    "Bearer revoked-token-0123456789": "TOKEN_REVOKED",
}


async def test_without_a_good_token_nothing_is_told(gateway: Any) -> None:
    for name, column in (("expired", "expires_at"), ("revoked", "revoked_at")):
        await gateway.database.execute(
            f"INSERT INTO gateway.tokens (hash, id, holder, name, {column}) "
            "VALUES ($1, $2, 'owner', $2, now() - interval '1 second')",
            token_hash(f"{name}-token-0123456789"),
            name,
        )
    del gateway.client.headers["Authorization"]
    told: dict[str | None, str] = {}
    for header in TOKENS:
        answer = await gateway.client.get("/api/v1/runs", headers={"Authorization": header} if header else {})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        told[header] = answer.json()["code"]
    assert told == TOKENS


async def test_a_foreign_workspace_and_an_unknown_one_look_alike(gateway: Any) -> None:
    await gateway.database.execute("INSERT INTO gateway.workspaces (id, name) VALUES ('other', 'other')")
    answers = [
        await gateway.client.get("/api/v1/runs", headers={"Proctor-Workspace": name}) for name in ("other", "nowhere")
    ]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["code"] == "WORKSPACE_ACCESS_DENIED"


REFUSED: dict[tuple[str, str, str], bool] = {
    ("viewer", "GET", "/api/v1/runs"): False,
    ("viewer", "POST", "/api/v1/runs"): True,
    ("viewer", "POST", "/api/v1/runs/x/stop"): True,
    ("member", "POST", "/api/v1/runs"): False,
    ("member", "POST", "/api/v1/benchmarks"): True,
    ("member", "POST", "/api/v1/uploads"): True,
    ("member", "POST", "/api/v1/benchmarks/x/sync"): True,
    ("member", "DELETE", "/api/v1/benchmarks/x"): True,
    ("admin", "POST", "/api/v1/benchmarks"): False,
    ("admin", "DELETE", "/api/v1/benchmarks/x"): False,
}


async def test_roles(gateway: Any) -> None:
    refused: dict[tuple[str, str, str], bool] = {}
    for role, method, path in REFUSED:
        await gateway.database.execute(
            "UPDATE gateway.members SET role = $1 WHERE workspace = $2", role, gateway.workspace
        )
        answer = await gateway.client.request(method, path, json={} if method == "POST" else None)
        refused[role, method, path] = answer.status_code == 403
    assert refused == REFUSED


ERRORS: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/nowhere", {}, 404, "NOT_FOUND"),
    ("GET", "/api/v1/runs/none", {}, 404, "NOT_FOUND"),
    ("GET", "/api/schema", {}, 404, "NOT_FOUND"),
    ("GET", "/api/schema/nowhere", {}, 404, "NOT_FOUND"),
    ("GET", "/api/schema/no/where", {}, 404, "NOT_FOUND"),
    ("PUT", "/api/v1/runs", {}, 405, "METHOD_NOT_ALLOWED"),
    ("GET", "/api/v1/runs?limit=0", {}, 400, "VALIDATION"),
    ("GET", "/api/v1/runs?limit=many", {}, 400, "VALIDATION"),
    ("GET", "/api/v1/runs?cursor=!!", {}, 400, "VALIDATION"),
    ("GET", "/api/v1/runs?status=done", {}, 400, "VALIDATION"),
    ("POST", "/api/v1/runs", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "VALIDATION"),
    ("POST", "/api/v1/runs", {"json": []}, 400, "VALIDATION"),
    ("POST", "/api/v1/runs", {"content": b"a = 1"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
    ("POST", "/api/v1/runs", {"json": {"x": "y" * 4 * 1024 * 1024}}, 413, "TOO_LARGE"),
    ("POST", "/api/v1/benchmarks", {"json": {"x": "y" * 1024 * 1024}}, 413, "TOO_LARGE"),
    ("POST", "/api/v1/benchmarks", {"json": {}}, 400, "VALIDATION"),
    ("POST", "/api/v1/uploads", {"content": b"PK"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
    ("POST", "/api/v1/uploads", {"content": b"PK", "headers": {"Content-Type": "application/gzip"}}, 400, "VALIDATION"),
    ("GET", "/api/v1/runners", {}, 503, "UNAVAILABLE"),
]


async def test_an_error_is_a_problem_document(gateway: Any) -> None:
    for method, path, body, status, code in ERRORS:
        answer = await gateway.client.request(method, path, **body)
        got = (answer.status_code, answer.headers["content-type"])
        assert got == (status, "application/problem+json"), (method, path, answer.text)
        problem = answer.json()
        assert (problem["status"], problem["code"]) == (status, code), (method, path)
        assert problem["error"] == problem["detail"]
        assert problem["type"]
        assert problem["title"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


async def test_what_nobody_foresaw_has_an_incident_and_no_internals(
    gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await gateway.database.execute("DROP TABLE gateway.tokens CASCADE")
    await gateway.database.execute("CREATE TABLE gateway.tokens (hash int)")
    answer = await gateway.client.get("/api/v1/runs")
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    assert answer.json()["incident"] in caplog.text
    assert "hash" not in answer.text


async def test_read_models_that_arent_there_yet(gateway: Any) -> None:
    await gateway.database.execute("DROP SCHEMA leaderboard CASCADE")
    answer = await gateway.client.get("/api/v1/runs")
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert (await gateway.client.get("/healthz")).status_code == 200
