"""Tokens: shown once, ended by time, by hand and with the one that made them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

type Invite = Callable[..., Awaitable[Any]]


async def test_a_token_is_shown_once_and_works_until_it_is_revoked(gateway: Any, invite: Invite, person: Any) -> None:
    ada = await invite("ada", "member")
    later = (datetime.now(UTC) + timedelta(days=90)).isoformat()
    made = (await ada("POST", "/tokens", {"name": "ci", "expires_at": later})).json()
    assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(later)
    assert (await ada("GET", "/tokens")).json()["items"][0]["last_used_at"] is None
    ci = person(gateway, {"id": ada.id, "email": ada.email}, made, None)
    assert (await ci("GET", "/runs")).status_code == 200
    listed = (await ada("GET", "/tokens")).json()["items"]
    assert [(token["id"], token["name"]) for token in listed] == [(made["id"], "ci"), (ada.token_id, "first")]
    used = datetime.fromisoformat(listed[0]["last_used_at"])
    assert abs(datetime.now(UTC) - used) < timedelta(minutes=1)

    told = [await ada("GET", path) for path in ("/tokens", "/whoami", "/workspaces")]
    told += [await gateway.client.get(f"/api/v1/{path}") for path in ("audit", "users")]
    tables = await gateway.database.fetch("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'gateway'")
    rows = [await gateway.database.fetch(f"SELECT r::text FROM gateway.{table['name']} r") for table in tables]
    assert "ci" in str(rows)
    for secret in (made["token"], ada.token):
        assert secret not in str([answer.text for answer in told])
        assert secret not in str(rows)

    assert (await ada("DELETE", f"/tokens/{made['id']}")).status_code == 204
    assert (await ada("DELETE", f"/tokens/{made['id']}")).status_code == 404
    answer = await ci("GET", "/runs")
    assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_REVOKED")
    assert len((await ada("GET", "/tokens")).json()["items"]) == 1


async def test_a_token_outlives_none_that_it_is_made_with(gateway: Any, invite: Invite) -> None:
    ada = await invite("ada", "member")
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    await gateway.database.execute("UPDATE gateway.tokens SET expires_at = $2 WHERE id = $1", ada.token_id, ends)
    sooner, later = ends - timedelta(minutes=1), (ends + timedelta(seconds=1)).isoformat()
    for asked, given in ((None, ends), (ends, ends), (sooner, sooner)):
        made = await ada("POST", "/tokens", {"name": "t", "expires_at": asked and asked.isoformat()})
        assert (made.status_code, datetime.fromisoformat(made.json()["expires_at"])) == (201, given)
    refused = await ada("POST", "/tokens", {"name": "t", "expires_at": later})
    assert (refused.status_code, refused.json()["issues"][0]["key"]) == (400, "expires_at")
    assert ends.isoformat() in refused.json()["detail"]
    audited = await gateway.database.fetch("SELECT detail ->> 'expires_at' AS ends FROM gateway.audit ORDER BY id")
    assert datetime.fromisoformat(audited[-3]["ends"]) == ends


async def test_a_name_can_be_seen(gateway: Any) -> None:
    names = {"\u200b": 400, "\u200d": 400, "\u200c \u200d": 400, "a\u200bb": 400, "\ufeffa": 400, "a\u2060": 400}
    names |= {"a\u2064b": 400, "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": 201}
    names |= {"\U0001f468\u200d\U0001f469": 201}
    got = {name: (await gateway.client.post("/api/v1/tokens", json={"name": name})).status_code for name in names}
    assert got == names


async def test_the_tokens_of_others(gateway: Any, invite: Invite) -> None:
    ada, owner = await invite("ada", "member"), await invite("boss", "owner")
    assert (await owner("DELETE", f"/tokens/{ada.token_id}")).status_code == 404
    assert (await ada("GET", "/runs")).status_code == 200
    path = f"/api/v1/tokens/{ada.token_id}?user=ADA@example.org"
    assert (await gateway.client.delete(path)).status_code == 204
    assert (await ada("GET", "/runs")).status_code == 401


async def test_an_expired_token_ends_at_once(gateway: Any, invite: Invite) -> None:
    ada = await invite("ada", "member")
    assert (await ada("GET", "/runs")).status_code == 200
    await gateway.database.execute("UPDATE gateway.tokens SET expires_at = now() WHERE id = $1", ada.token_id)
    answer = await ada("GET", "/runs")
    assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_EXPIRED")


async def test_the_token_in_the_home_is_changed_by_its_file_alone(gateway: Any) -> None:
    (home,) = (await gateway.client.get("/api/v1/tokens")).json()["items"]
    answer = await gateway.client.delete(f"/api/v1/tokens/{home['id']}")
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert "$PROCTOR_HOME/token" in answer.json()["detail"]
    assert (await gateway.client.get("/api/v1/runs")).status_code == 200
