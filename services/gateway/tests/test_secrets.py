"""Secrets over the API: who may set which, what is shown of them, and what a submit makes of them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from proctor.contracts.judge import JudgeRule
from proctor.contracts.manifest import Manifest
from proctor.gateway.submission import SecretsMissing, Target, accept, parse
from proctor.service.errors import Invalid

VALUE = "  s3cret ünïcode\nwith lines 4711 "

type Ask = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
def person(gateway: Any) -> Callable[..., Awaitable[Ask]]:
    """A new user with that role in the test's workspace; what they ask carries their token."""

    async def make(role: str, name: str | None = None) -> Ask:
        client, email = gateway.client, f"{name or role}@example.org"
        assert (await client.post("/api/v1/users", json={"name": role, "email": email})).status_code == 201
        token = (await client.post("/api/v1/tokens", json={"name": "t", "user": email})).json()["token"]
        members = f"/api/v1/workspaces/{gateway.workspace}/members"
        assert (await client.post(members, json={"email": email, "role": role})).status_code == 201

        async def ask(method: str, path: str, body: Any = None) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            return await client.request(method, f"/api/v1{path}", json=body, headers=headers)

        return ask

    return make


async def names(ask: Ask, scope: str = "all") -> list[tuple[str, str]]:
    return [(one["name"], one["scope"]) for one in (await ask("GET", f"/secrets?scope={scope}")).json()["items"]]


async def test_who_may_set_and_remove(person: Any) -> None:
    for role, personal, shared in (
        ("viewer", 403, 403),
        ("member", 200, 403),
        ("admin", 200, 200),
        ("owner", 200, 200),
    ):
        ask = await person(role)
        for scope, expected in (("user", personal), ("workspace", shared)):
            answer = await ask("PUT", "/secrets/KEY", {"value": "v", "scope": scope})
            removed = [await ask("DELETE", f"/secrets/KEY?scope={scope}") for _ in range(2)]
            statuses = [one.status_code for one in (answer, *removed)]
            assert statuses == ([200, 204, 404] if expected == 200 else [403, 403, 403]), (role, scope)


NO_SECRETS: list[tuple[str, dict[str, Any], str]] = [
    ("lower", {"value": "v"}, "name"),
    ("1A", {"value": "v"}, "name"),
    ("_A", {"value": "v"}, "name"),
    ("A-B", {"value": "v"}, "name"),
    ("A%0A", {"value": "v"}, "name"),
    ("A" * 256, {"value": "v"}, "name"),
    ("A", {"value": ""}, "value"),
    ("A", {"value": "4711\0"}, "value"),
    ("A", {"value": "4711" * 16_385}, "value"),
    ("A", {"value": 4711}, "value"),
    ("A", {}, "value"),
    ("A", {"value": "v", "scope": "personal"}, "scope"),
    ("A", {"value": "v", "4711": "v"}, "4711"),
]


async def test_who_is_removed_meanwhile_sets_nothing(gateway: Any, person: Any) -> None:
    ask = await person("member", "ada")
    async with gateway.database.transaction():
        await gateway.database.execute(
            "DELETE FROM gateway.members WHERE workspace = $1 AND role = 'member'", gateway.workspace
        )
        setting = asyncio.create_task(ask("PUT", "/secrets/KEY", {"value": "v"}))
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        async with asyncio.timeout(10):
            while not await gateway.database.fetchval(waits):
                await asyncio.sleep(0.01)
    answer = await setting
    assert (answer.status_code, answer.json()["code"]) == (403, "WORKSPACE_ACCESS_DENIED")
    assert await gateway.database.fetchval("SELECT count(*) FROM gateway.secrets") == 0


async def test_what_is_no_secret(gateway: Any) -> None:
    for name, body, key in NO_SECRETS:
        answer = await gateway.client.put(f"/api/v1/secrets/{name}", json=body)
        assert (answer.status_code, [issue["key"] for issue in answer.json()["issues"]]) == (400, [key])
        assert "4711" not in "".join(issue["message"] for issue in answer.json()["issues"])
    assert await gateway.database.fetchval("SELECT count(*) FROM gateway.secrets") == 0


async def test_a_value_goes_in_verbatim_and_is_never_shown(gateway: Any, person: Any) -> None:
    ask = await person("admin", "ada")
    answers = [await ask("PUT", "/secrets/" + "K" * 255, {"value": VALUE, "scope": "workspace"}) for _ in range(2)]
    shown = answers[1].json()
    people = {f"{who}{what}" for who in ("creator", "updater") for what in ("", "_name")}
    assert shown.keys() == {"id", "name", "scope", "version", "created_at", "updated_at", *people}
    assert (shown["version"], shown["scope"], shown["creator_name"], shown["updater_name"]) == (
        2,
        "workspace",
        "admin",
        "admin",
    )
    assert shown["id"] == answers[0].json()["id"]
    listed = await ask("GET", "/secrets")
    assert listed.json()["items"] == [shown]
    rows = await gateway.database.fetch(
        "SELECT s::text AS secret, a::text AS audit FROM gateway.secrets s, gateway.audit a"
    )
    told = "".join(answer.text for answer in [*answers, listed]) + str(rows)
    assert "4711" not in told
    audited = [row["audit"] for row in rows if "secret.set" in row["audit"]]
    assert len(audited) == 2
    assert (await ask("DELETE", "/secrets/" + "K" * 255 + "?scope=workspace")).status_code == 204
    events = (await gateway.client.get("/api/v1/audit")).json()["items"]
    kinds = [(event["action"], event["detail"]) for event in events if event["action"].startswith("secret.")]
    assert kinds == [
        ("secret.removed", {"scope": "workspace", "version": 2}),
        ("secret.set", {"scope": "workspace", "version": 2}),
        ("secret.set", {"scope": "workspace", "version": 1}),
    ]


async def test_everyone_sees_the_workspaces_and_their_own(gateway: Any, person: Any) -> None:
    ada, ben, eve = await person("admin", "ada"), await person("member", "ben"), await person("viewer", "eve")
    for ask, scope in ((ada, "workspace"), (ada, "user"), (ben, "user")):
        assert (await ask("PUT", "/secrets/KEY", {"value": "v", "scope": scope})).status_code == 200
    assert (await ben("PUT", "/secrets/BENS", {"value": "v"})).status_code == 200
    both = [("KEY", "user"), ("KEY", "workspace")]
    assert await names(ada) == both
    assert await names(ben) == [("BENS", "user"), *both]
    assert await names(eve) == [("KEY", "workspace")]
    assert [await names(ada, scope) for scope in ("user", "workspace")] == [[one] for one in both]
    assert (await gateway.client.delete("/api/v1/secrets/BENS")).status_code == 404
    elsewhere = await gateway.client.get("/api/v1/secrets", headers={"Proctor-Workspace": "default"})
    assert elsewhere.json() == {"items": [], "next_cursor": None}
    members = f"/api/v1/workspaces/{gateway.workspace}/members"
    assert (await gateway.client.delete(f"{members}/ben@example.org")).status_code == 204
    holders = await gateway.database.fetch("SELECT name, holder = '' AS shared FROM gateway.secrets ORDER BY name, 2")
    assert [tuple(row) for row in holders] == [("KEY", False), ("KEY", True)]


async def test_pages_go_to_the_last_one(gateway: Any) -> None:
    for index in range(5):
        await gateway.client.put(f"/api/v1/secrets/KEY_{index}", json={"value": "v"})
    await gateway.client.put("/api/v1/secrets/KEY_1", json={"value": "v", "scope": "workspace"})
    seen: list[tuple[str, str]] = []
    path: str | None = "/api/v1/secrets?limit=2"
    while path is not None:
        page = (await gateway.client.get(path)).json()
        seen += [(one["name"], one["scope"]) for one in page["items"]]
        path = f"/api/v1/secrets?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else None
    assert seen == sorted(seen)
    assert len(set(seen)) == len(seen) == 6


async def test_each_of_many_writers_gets_a_version(gateway: Any) -> None:
    put = [gateway.client.put("/api/v1/secrets/KEY", json={"value": f"v{index}"}) for index in range(12)]
    versions = [answer.json()["version"] for answer in await asyncio.gather(*put)]
    assert sorted(versions) == list(range(1, 13))


# what a submit makes of them

TARGET = Target(benchmark="b", key="acme/tiny", name="Tiny", status="ready", default_harness=None)
JUDGED = replace(TARGET, judge=JudgeRule(kind="key", key_variable="OPENAI_API_KEY"))


def target(body: dict[str, Any]) -> Target:
    """A benchmark that a model judges where the run names the judge's key."""
    return JUDGED if "judge_api_key_secret" in body.get("execution_config", {}) else TARGET


EXPERIMENT = {"benchmark": "acme/tiny"}
MODEL = {"type": "provider", "model": "m", "api_key_secret": "MODEL_KEY"}
COMMAND = {"harness": "command", "env": {"PROCTOR_COMMAND": "true"}}


def issues(body: dict[str, Any], manifest: Manifest, *stored: str) -> tuple[type[Invalid] | None, list[str]]:
    try:
        accept(
            parse({"experiment_config": EXPERIMENT, **body}), target(body), manifest, (), dict.fromkeys(stored, "user")
        )
    except Invalid as error:
        return type(error), [issue.key for issue in error.issues]
    return None, []


@pytest.mark.parametrize(
    ("body", "stored", "missing"),
    [
        ({"secrets": {"required": ["A"], "provided": {"A": "v"}}}, [], []),
        ({"secrets": {"required": ["A"], "provided": {}}}, ["A"], []),
        ({"secrets": {"required": ["A", "B"], "provided": {}}}, ["B"], ["A"]),
        ({"secrets": {"required": ["A", "B"]}}, [], ["A", "B"]),
        ({"execution_config": {"verifier_secrets": ["V", "W"]}}, ["W"], ["V"]),
        ({"execution_config": {"judge_api_key_secret": "J", "verifier_secrets": ["J"]}}, [], ["J"]),
        ({"execution_config": {"verifier_secrets": ["A"]}, "secrets": {"required": ["A"]}}, [], ["A"]),
        ({"agents": [{**COMMAND, "model": MODEL}]}, [], []),
    ],
)
def test_what_is_missing_is_named(
    body: dict[str, Any], stored: list[str], missing: list[str], manifest: Manifest
) -> None:
    body = {"experiment_config": EXPERIMENT, "agents": [COMMAND], **body}
    if not missing:
        accept(parse(body), target(body), manifest, (), dict.fromkeys(stored, "user"))
        return
    with pytest.raises(SecretsMissing) as refused:
        accept(parse(body), target(body), manifest, (), dict.fromkeys(stored, "user"))
    assert (refused.value.missing, refused.value.code) == (tuple(missing), "SECRETS_MISSING")
    assert all(any(name in issue.message for issue in refused.value.issues) for name in missing)


def test_what_is_missing_is_one_problem_of_many_when_there_are_others(manifest: Manifest) -> None:
    body = {"agents": [{"harness": "orcale"}], "secrets": {"required": ["A"]}}
    assert issues(body, manifest) == (Invalid, ["agents[0].harness", "secrets.required"])


def agent(**fields: Any) -> dict[str, Any]:
    return {"agents": [{"harness": "oracle", **fields}]}


def headers(extra: dict[str, str]) -> dict[str, Any]:
    endpoint = {"type": "endpoint", "base_url": "http://h", "model": "m", "api_key_secret": "MODEL_KEY"}
    return agent(model={**endpoint, "extra_headers": extra})


COLLISIONS: list[tuple[dict[str, Any], list[str]]] = [
    (agent(model=MODEL, env={"MODEL_KEY": "v"}), ["agents[0].env.MODEL_KEY"]),
    ({**agent(model=MODEL), "env_config": {"MODEL_KEY": "v"}}, ["env.MODEL_KEY"]),
    ({"agents": [{"harness": "oracle", "model": MODEL}, {"harness": "nop", "env": {"MODEL_KEY": "v"}}]}, []),
    ({**agent(env={"J": "v"}), "execution_config": {"judge_api_key_secret": "J"}}, ["agents[0].env.J"]),
    ({**agent(), "env_config": {"V": "v"}, "execution_config": {"verifier_secrets": ["V"]}}, ["env.V"]),
    ({**agent(env={"R": "v"}), "secrets": {"required": ["R"]}}, ["agents[0].env.R"]),
    ({**agent(), "secrets": {"required": ["R", "R"]}}, ["secrets.required"]),
    ({**agent(), "execution_config": {"verifier_secrets": ["V", "V"]}}, ["verifier.required"]),
    (agent(model={**MODEL, "api_key_secret": "DAYTONA_API_KEY"}), ["agents[0].model.api_key_secret"]),
    (agent(model={**MODEL, "api_key_secret": "DAYTONA_API_URL"}), ["agents[0].model.api_key_secret"]),
    ({**agent(), "secrets": {"required": ["DAYTONA_API_KEY"]}}, []),
    (headers({"X-Team": "a b"}), []),
    (headers({"authorization": "Bearer x"}), ["agents[0].model.extra_headers.authorization"]),
    (headers({"X Team": "a"}), ["agents[0].model.extra_headers.X Team"]),
    (headers({"X-Team": "a\r\nX-Other: b"}), ["agents[0].model.extra_headers.X-Team"]),
    (headers({"X-Team": "团队"}), ["agents[0].model.extra_headers.X-Team"]),
    (agent(harness_api_key_secret="CURSOR_API_KEY"), ["agents[0].harness_api_key_secret"]),
    (agent(harness="cursor-cli"), ["agents[0].harness", "agents[0].harness_api_key_secret"]),
    (
        agent(harness="cursor-cli", harness_api_key_secret="R"),
        ["agents[0].harness", "agents[0].harness_api_key_secret"],
    ),
    (
        agent(harness="cursor-cli", harness_api_key_secret="CURSOR_API_KEY", env={"CURSOR_API_KEY": "v"}),
        ["agents[0].harness", "agents[0].env.CURSOR_API_KEY"],
    ),
    (agent(harness="cursor-cli", harness_api_key_secret="CURSOR_API_KEY"), ["agents[0].harness"]),
    (
        {**agent(harness="mini-swe-agent", model=MODEL), "env_config": {"MSWEA_API_KEY": "v"}},
        ["agents[0].harness", "env.MSWEA_API_KEY"],
    ),
    (
        agent(
            harness="mini-swe-agent",
            model={"type": "hosted", "base_model": "b", "lora_model_name": "l"},
            env={"MSWEA_API_KEY": "v"},
        ),
        ["agents[0].harness"],
    ),
]


@pytest.mark.parametrize(("body", "keys"), COLLISIONS)
def test_a_name_is_set_in_one_place(body: dict[str, Any], keys: list[str], manifest: Manifest) -> None:
    stored = ("MODEL_KEY", "J", "V", "R", "CURSOR_API_KEY", "DAYTONA_API_KEY", "DAYTONA_API_URL")
    known = [key for key in issues(body, manifest, *stored)[1] if not (key == "agents[0].harness" and key not in keys)]
    assert known == keys


@pytest.mark.parametrize(
    ("stored", "config", "told"),
    [
        ({}, {}, "env:"),
        ({"API_KEY": "user"}, {}, "env:"),
        ({"API_KEY": "workspace"}, {}, "secrets:"),
        ({"API_KEY": "user_override"}, {}, "secrets:"),
        ({"API_KEY": "user"}, {"secrets": {"required": ["API_KEY"]}}, None),
        ({"API_KEY": "user"}, {"execution_config": {"verifier_secrets": ["API_KEY"]}}, None),
        ({}, {"env_config": {"API_KEY": "v"}}, None),
    ],
)
def test_what_tasks_read_is_told(
    stored: dict[str, str], config: dict[str, Any], told: str | None, manifest: Manifest
) -> None:
    body = {"experiment_config": EXPERIMENT, "agents": [COMMAND], **config}
    warnings = accept(parse(body), TARGET, manifest, (), stored).warnings
    assert [warning.partition(" ")[0] for warning in warnings] == ([told] if told else [])


async def test_a_submit_needs_secrets_that_its_author_can_use(gateway: Any, person: Any, manifest: Manifest) -> None:
    await gateway.insert_benchmark(manifest)
    ada, ben = await person("admin", "ada"), await person("member", "ben")
    body = {
        "experiment_config": EXPERIMENT,
        "agents": [{"harness": "oracle"}],
        "execution_config": {"verifier_secrets": ["SHARED"]},
        "secrets": {"required": ["OWN", "GIVEN"], "provided": {"GIVEN": "v"}},
    }
    await ada("PUT", "/secrets/OWN", {"value": "v"})
    refused = await ben("POST", "/runs", body)
    assert (refused.status_code, refused.json()["code"]) == (400, "SECRETS_MISSING")
    assert [issue["key"] for issue in refused.json()["issues"]] == ["verifier.required", "secrets.required"]
    await ada("PUT", "/secrets/SHARED", {"value": "v", "scope": "workspace"})
    assert [issue["key"] for issue in (await ben("POST", "/runs", body)).json()["issues"]] == ["secrets.required"]
    await ben("PUT", "/secrets/OWN", {"value": "v"})
    assert (await ben("POST", "/runs", body)).status_code == 201
