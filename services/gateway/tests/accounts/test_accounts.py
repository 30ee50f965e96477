"""Users, workspaces and members over the API, and who may do what with them."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from proctor.gateway.access.owner import ensure_owner
from proctor.gateway.access.tokens import authenticate, issue
from proctor.service.errors import Forbidden, Unauthorized
from proctor.service.postgres import migrate, open_pool

type Invite = Callable[..., Awaitable[Any]]


ROLES = ("viewer", "member", "admin", "owner")
RIGHTS: list[tuple[str, str, Any, tuple[int, int, int, int]]] = [
    ("GET", "/whoami", None, (200, 200, 200, 200)),
    ("GET", "/tokens", None, (200, 200, 200, 200)),
    ("GET", "/tokens?user=owner@localhost", None, (403, 403, 403, 403)),
    ("POST", "/tokens", {"name": "another"}, (201, 201, 201, 201)),
    ("POST", "/tokens", {"name": "another", "user": "owner@localhost"}, (403, 403, 403, 403)),
    ("DELETE", "/tokens/none?user=owner@localhost", None, (403, 403, 403, 403)),
    ("GET", "/users", None, (403, 403, 403, 403)),
    ("POST", "/users", {"name": "New", "email": "new@example.org"}, (403, 403, 403, 403)),
    ("GET", "/workspaces", None, (200, 200, 200, 200)),
    ("POST", "/workspaces", {"name": "mine"}, (403, 403, 403, 403)),
    ("GET", "/workspaces/{w}", None, (200, 200, 200, 200)),
    ("PATCH", "/workspaces/{w}", {"billing": "suspended"}, (403, 403, 403, 200)),
    ("PATCH", "/workspaces/{w}", {"repo": "Acme/Tasks"}, (403, 403, 403, 403)),
    ("PATCH", "/workspaces/{w}", {"repo": None}, (403, 403, 403, 200)),
    ("GET", "/workspaces/{w}/budget", None, (200, 200, 200, 200)),
    ("PUT", "/workspaces/{w}/budget", {"run_usd": 5}, (403, 403, 403, 200)),
    ("GET", "/workspaces/{w}/members", None, (403, 403, 200, 200)),
    ("POST", "/workspaces/{w}/members", {"email": "spare@example.org"}, (403, 403, 403, 201)),
    ("PATCH", "/workspaces/{w}/members/spare@example.org", {"role": "admin"}, (403, 403, 403, 200)),
    ("DELETE", "/workspaces/{w}/members/spare@example.org", None, (403, 403, 403, 204)),
    ("GET", "/audit", None, (403, 403, 200, 200)),
]


async def test_what_a_role_may_do(gateway: Any, invite: Invite) -> None:
    people = [await invite(role, role) for role in ROLES]
    await invite("spare")
    got: list[Any] = []
    for method, path, body, _ in RIGHTS:
        statuses = [(await person(method, path.format(w=gateway.workspace), body)).status_code for person in people]
        got.append((method, path, body, tuple(statuses)))
    assert got == RIGHTS


async def test_a_workspace_one_is_not_in_looks_like_none(gateway: Any, invite: Invite) -> None:
    stranger = await invite("stranger")
    for method, path, body, _ in RIGHTS:
        if "{w}" in path:
            there, nowhere = [await stranger(method, path.format(w=name), body) for name in (gateway.workspace, "none")]
            assert there.status_code == 404, (method, path)
            assert there.text.replace(gateway.workspace, "none") == nowhere.text


async def test_a_user_in_no_workspace_has_an_identity_and_nothing_else(invite: Invite) -> None:
    stranger = await invite("stranger")
    who = (await stranger("GET", "/whoami")).json()
    assert (who["user"]["email"], who["user"]["operator"], who["workspace"]) == ("stranger@example.org", False, None)
    assert who["token"] == {"id": stranger.token_id, "name": "first", "expires_at": None}
    assert (await stranger("GET", "/workspaces")).json()["items"] == []
    for path in ("/runs", "/benchmarks", "/audit", "/runners"):
        answer = await stranger("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (403, "WORKSPACE_ACCESS_DENIED"), path


async def test_roles_and_membership_count_from_the_next_request(gateway: Any, invite: Invite) -> None:
    ada, boss = await invite("ada", "viewer"), await invite("boss", "owner")
    members = f"/workspaces/{gateway.workspace}/members"
    assert (await ada("POST", "/runs", {})).status_code == 403
    changed = await boss("PATCH", f"{members}/{ada.id}", {"role": "member"})
    assert (changed.json()["email"], changed.json()["role"]) == (ada.email, "member")
    assert (await ada("POST", "/runs", {})).status_code == 400
    again = await boss("POST", members, {"email": "Ada@Example.org"})
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    assert (await boss("DELETE", f"{members}/{ada.email}")).status_code == 204
    answer = await ada("GET", "/runs")
    assert (answer.status_code, answer.json()["code"]) == (403, "WORKSPACE_ACCESS_DENIED")
    assert [member["email"] for member in (await boss("GET", members)).json()["items"]] == [
        "boss@example.org",
        "owner@localhost",
    ]


async def test_a_workspace_of_an_operators_making(gateway: Any, invite: Invite) -> None:
    ada, bob = await invite("ada", "viewer"), await invite("bob")
    new = {"name": "research.v2", "owner": "ada@example.org", "repo": "Acme/Bench.Tasks"}
    made = await gateway.client.post("/api/v1/workspaces", json=new)
    assert made.status_code == 201
    told = {key: made.json()[key] for key in ("name", "role", "repo", "billing")}
    assert told == {"name": "research.v2", "role": "owner", "repo": "acme/bench.tasks", "billing": "ok"}
    assert (await gateway.client.get("/api/v1/workspaces/research.v2")).status_code == 404
    assert [item["name"] for item in (await ada("GET", "/workspaces")).json()["items"]] == [
        gateway.workspace,
        "research.v2",
    ]
    for body, part in (
        ({"name": "research.v2"}, "'research.v2'"),
        ({"name": "other", "repo": "acme/BENCH.tasks"}, "acme/bench.tasks"),
    ):
        answer = await gateway.client.post("/api/v1/workspaces", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
        assert part in answer.json()["detail"]
    assert (await ada("PATCH", f"/workspaces/{new['name']}", {"repo": None})).json()["repo"] is None
    captured = await ada("PATCH", f"/workspaces/{new['name']}", {"repo": "victim/tasks"})
    assert (captured.status_code, "only an operator" in captured.json()["detail"]) == (403, True)
    bind = {"repo": "acme/other"}
    bound = (await gateway.client.patch(f"/api/v1/workspaces/{new['name']}", json=bind)).json()
    assert (bound["repo"], bound["role"]) == ("acme/other", None)
    assert (await ada("GET", f"/workspaces/{new['name']}")).json()["repo"] == "acme/other"
    for name, body in ((new["name"], {**bind, "billing": "ok"}), ("none", bind)):
        assert (await gateway.client.patch(f"/api/v1/workspaces/{name}", json=body)).status_code == 404
    assert (await ada("PATCH", f"/workspaces/{new['name']}", {"billing": "suspended"})).json()["billing"] == "suspended"
    assert (await ada("PATCH", f"/workspaces/{new['name']}", {})).json()["billing"] == "suspended"
    assert (await bob("GET", "/workspaces/research.v2")).status_code == 404
    ada.headers["Proctor-Workspace"] = "research.v2"
    assert (await ada("GET", "/whoami")).json()["workspace"]["role"] == "owner"


BAD: list[tuple[str, str, Any, list[str]]] = [
    ("POST", "/users", {}, ["name", "email"]),
    ("POST", "/users", {"name": " x", "email": "a b@c", "admin": True}, ["admin", "name", "email"]),
    ("POST", "/users", {"name": "x", "email": "ada", "operator": "yes"}, ["email", "operator"]),
    ("POST", "/users", {"name": "x\u202e", "email": "a@b@c"}, ["name", "email"]),
    ("POST", "/workspaces", {"name": "system"}, ["name"]),
    ("POST", "/workspaces", {"name": "Research"}, ["name"]),
    ("POST", "/workspaces", {"name": "a" * 64}, ["name"]),
    ("POST", "/workspaces", {"name": ".a"}, ["name"]),
    ("POST", "/workspaces", {"name": "a\n"}, ["name"]),
    ("POST", "/workspaces", {"name": "研究"}, ["name"]),
    ("POST", "/workspaces", {"name": "ok", "repo": "https://github.com/a/b"}, ["repo"]),
    ("PATCH", "/workspaces/{w}", {"billing": None}, ["billing"]),
    ("PATCH", "/workspaces/{w}", {"billing": "free", "repo": "a"}, ["repo", "billing"]),
    ("POST", "/workspaces/{w}/members", {"email": "owner@localhost", "role": "king"}, ["role"]),
    ("PATCH", "/workspaces/{w}/members/owner", {}, ["role"]),
    ("POST", "/tokens", {"name": ""}, ["name"]),
    ("POST", "/tokens", {"name": "t", "expires_at": "2001-01-01T00:00:00Z"}, ["expires_at"]),
    ("POST", "/tokens", {"name": "t", "expires_at": "2101-01-01T00:00:00Z"}, ["expires_at"]),
    ("POST", "/tokens", {"name": "t", "expires_at": "9999-12-31T23:59:59-23:59"}, ["expires_at"]),
    ("POST", "/tokens", {"name": "t", "expires_at": "2030-01-01T00:00:00"}, ["expires_at"]),
    ("GET", "/audit?cursor=!!", None, ["cursor"]),
    ("GET", "/tokens?user=%00", None, ["user"]),
]


async def test_bad_bodies_are_told_by_field(gateway: Any) -> None:
    for method, path, body, keys in BAD:
        answer = await gateway.client.request(method, f"/api/v1{path}".format(w=gateway.workspace), json=body)
        assert answer.status_code == 400, (path, body, answer.text)
        assert sorted(issue["key"] for issue in answer.json()["issues"]) == sorted(keys), (path, body, answer.text)
        assert "Input should" not in answer.text
        assert "Value error" not in answer.text


async def test_an_email_is_one_users_whatever_its_case(gateway: Any) -> None:
    statuses = [
        (await gateway.client.post("/api/v1/users", json={"name": "A", "email": email})).status_code
        for email in ("Ada@Example.org", "ada@example.ORG", "adb@example.org")
    ]
    assert statuses == [201, 409, 201]


async def test_lists_page_to_the_end(gateway: Any, invite: Invite) -> None:
    for name in ("dora", "Carl", "bob", "ada"):
        await invite(name, "viewer")
    found: dict[str, list[Any]] = {}
    for path, key in (("users", "email"), (f"workspaces/{gateway.workspace}/members", "email"), ("audit", "id")):
        cursor: dict[str, str] | None = {}
        values: list[Any] = []
        while cursor is not None:
            page = (await gateway.client.get(f"/api/v1/{path}", params={"limit": 2, **cursor})).json()
            values += [item[key] for item in page["items"]]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        found[path] = values
    names = [f"{name}@example.org" for name in ("ada", "bob", "Carl", "dora")]
    assert found["users"] == found[f"workspaces/{gateway.workspace}/members"] == [*names, "owner@localhost"]
    assert found["audit"] == sorted(found["audit"], reverse=True)
    assert len(found["audit"]) == 12


async def both(one: Awaitable[httpx.Response], other: Awaitable[httpx.Response]) -> list[httpx.Response]:
    return list(await asyncio.gather(one, other))


async def test_a_workspace_always_keeps_an_owner(gateway: Any, invite: Invite) -> None:
    ada, bob = await invite("ada", "owner"), await invite("bob", "owner")
    members = f"/workspaces/{gateway.workspace}/members"
    assert (await ada("DELETE", f"{members}/owner")).status_code == 204
    for _ in range(8):
        answers = await both(
            ada("PATCH", f"{members}/{ada.id}", {"role": "viewer"}), bob("DELETE", f"{members}/{bob.id}")
        )
        assert sorted(answer.is_success for answer in answers) == [False, True]
        (refused,) = [answer for answer in answers if not answer.is_success]
        assert (refused.status_code, refused.json()["code"]) == (409, "LAST_OWNER")
        owners = await gateway.database.fetchval(
            "SELECT count(*) FROM gateway.members WHERE workspace = $1 AND role = 'owner'", gateway.workspace
        )
        assert owners == 1
        await gateway.database.executemany(
            "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, $2, 'owner') "
            "ON CONFLICT (workspace, member) DO UPDATE SET role = 'owner'",
            [(gateway.workspace, ada.id), (gateway.workspace, bob.id)],
        )


async def test_an_owner_who_was_just_demoted_changes_nothing_more(gateway: Any, invite: Invite) -> None:
    ada, bob = await invite("ada", "owner"), await invite("bob", "owner")
    members = f"/workspaces/{gateway.workspace}/members"
    for _ in range(8):
        answers = await both(
            ada("PATCH", f"{members}/{bob.id}", {"role": "viewer"}),
            bob("PATCH", f"{members}/{ada.id}", {"role": "viewer"}),
        )
        assert sorted(answer.status_code for answer in answers) == [200, 403]
        await gateway.database.execute(
            "UPDATE gateway.members SET role = 'owner' WHERE workspace = $1", gateway.workspace
        )


async def test_every_change_is_in_the_audit_log(gateway: Any, invite: Invite) -> None:
    ada = await invite("ada", "viewer")
    path = f"/api/v1/workspaces/{gateway.workspace}"
    await gateway.client.patch(f"{path}/members/{ada.id}", json={"role": "admin"})
    await gateway.client.patch(f"{path}/members/{ada.id}", json={"role": "admin"})
    await gateway.client.patch(path, json={"billing": "suspended", "repo": "acme/tasks"})
    await gateway.client.patch(path, json={"billing": "suspended", "repo": "acme/tasks"})
    own = (await ada("POST", "/tokens", {"name": "ci"})).json()
    await ada("DELETE", f"/tokens/{own['id']}")
    rows = (await ada("GET", "/audit")).json()["items"]
    await gateway.client.delete(f"{path}/members/{ada.id}")
    rows = [*(await gateway.client.get("/api/v1/audit?limit=1")).json()["items"], *rows]
    here, expiring = gateway.workspace, {"expires_at": None, "holder": ada.id}
    assert [(row["actor"], row["action"], row["target"], row["detail"]) for row in reversed(rows)] == [
        ("owner", "user.created", ada.id, {"operator": False}),
        ("owner", "token.created", ada.token_id, {"name": "first", **expiring}),
        ("owner", "member.added", ada.id, {"role": "viewer"}),
        ("owner", "member.role_changed", ada.id, {"role": "admin", "was": "viewer"}),
        ("owner", "workspace.repo_bound", here, {"repo": "acme/tasks", "was": None}),
        ("owner", "billing.changed", here, {"billing": "suspended", "was": "ok"}),
        (ada.id, "token.created", own["id"], {"name": "ci", **expiring}),
        (ada.id, "token.revoked", own["id"], {"holder": ada.id}),
        ("owner", "member.removed", ada.id, {"was": "admin"}),
    ]
    assert (rows[0]["actor_email"], rows[0]["target_email"]) == ("owner@localhost", ada.email)
    assert (rows[1]["actor_email"], rows[1]["target_email"]) == (ada.email, None)
    for change in ("UPDATE gateway.audit SET actor = 'x'", "DELETE FROM gateway.audit"):
        with pytest.raises(asyncpg.RaiseError, match="only ever added"):
            await gateway.database.execute(change)


async def test_bodies_are_described_in_openapi(gateway: Any) -> None:
    document = (await gateway.client.get("/openapi.json")).json()
    paths, schemas = document["paths"], document["components"]["schemas"]

    def fields(operation: Any) -> list[str]:
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        return sorted(schemas[reference.rpartition("/")[2]]["properties"])

    described = {
        (method, path.removeprefix("/api/v1")): fields(operation)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if path.startswith(("/api/v1/tokens", "/api/v1/users", "/api/v1/workspaces")) and method in {"post", "patch"}
    }
    assert described == {
        ("post", "/tokens"): ["expires_at", "name", "user"],
        ("post", "/users"): ["email", "name", "operator"],
        ("post", "/workspaces"): ["name", "owner", "repo"],
        ("patch", "/workspaces/{name}"): ["billing", "repo"],
        ("post", "/workspaces/{name}/members"): ["email", "role"],
        ("patch", "/workspaces/{name}/members/{user}"): ["role"],
    }


async def test_an_installation_from_before_there_were_operators(database_url: str) -> None:
    first = resources.files("proctor.gateway") / "migrations" / "0001_init.sql"
    pool = await open_pool(database_url)
    await pool.execute(
        "CREATE SCHEMA gateway; CREATE TABLE gateway.migrations (number int PRIMARY KEY, applied_at timestamptz "
        "NOT NULL DEFAULT now()); INSERT INTO gateway.migrations (number) VALUES (1);"
        f"SET search_path TO gateway; {first.read_text()}; RESET search_path;"
        "INSERT INTO gateway.users (id, name, email) VALUES ('owner', 'owner', 'owner@localhost');"
        "INSERT INTO gateway.tokens (hash, id, holder, name) "
        "VALUES ('a', 'a', 'owner', 'home'), ('b', 'b', 'owner', 'ci');"
        "INSERT INTO gateway.workspaces (id, name) VALUES ('default', 'default')"
    )
    await migrate(pool, "proctor.gateway", "gateway")
    assert await pool.fetchval("SELECT operator FROM gateway.users") is True
    tokens = await pool.fetch("SELECT id FROM gateway.tokens WHERE from_home")
    assert [token["id"] for token in tokens] == ["a"]
    assert await pool.fetchval("SELECT billing FROM gateway.workspaces") == "ok"
    await pool.close()


async def test_a_restart_gives_back_no_role_and_ends_no_token_but_the_homes(database_url: str, tmp_path: Path) -> None:
    pool = await open_pool(database_url)
    await migrate(pool, "proctor.gateway", "gateway")
    await ensure_owner(pool, tmp_path)
    async with pool.acquire() as connection:
        made = await issue(connection, holder="owner", name="home", expires_at=None)
    old = (tmp_path / "token").read_text().strip()
    assert (await authenticate(pool, old)).role == "owner"
    await pool.execute("UPDATE gateway.members SET role = 'viewer'")
    (tmp_path / "token").unlink()
    await ensure_owner(pool, tmp_path)
    new = (tmp_path / "token").read_text().strip()
    assert [(await authenticate(pool, token)).role for token in (new, made.token)] == ["viewer", "viewer"]
    with pytest.raises(Unauthorized, match="revoked"):
        await authenticate(pool, old)
    await pool.execute("DELETE FROM gateway.members")
    await ensure_owner(pool, tmp_path)
    with pytest.raises(Forbidden, match="any workspace"):
        await authenticate(pool, new)
    await pool.close()


async def test_a_repository_stands_for_a_workspace(gateway: Any, invite: Invite) -> None:
    ada, stranger = await invite("ada", "viewer"), await invite("stranger")
    await gateway.client.patch(f"/api/v1/workspaces/{gateway.workspace}", json={"repo": "Acme/Tasks"})
    pool = await open_pool(gateway.settings.database_url)
    who = await authenticate(pool, ada.token, repo="acme/tasks")
    assert (who.workspace, who.role, who.token_id) == (gateway.workspace, "viewer", ada.token_id)
    said: list[str] = []
    for token, repo in ((ada.token, "acme/none"), (stranger.token, "acme/tasks"), (stranger.token, "acme/none")):
        with pytest.raises(Forbidden) as denied:
            await authenticate(pool, token, repo=repo, scoped=False)
        assert denied.value.reported_code == "GIT_REPOSITORY_ACCESS_DENIED"
        said.append(denied.value.message.replace(repo, ""))
    assert len(set(said)) == 1
    await pool.close()
