"""`proctor token`, `user`, `workspace` and `audit` against a real gateway."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer

from proctor.cli.expiry import read_expiry

type Proctor = Callable[..., Any]


@pytest.mark.usefixtures("gateway")
def test_the_life_of_an_account(proctor: Proctor) -> None:
    assert proctor("workspace", "create", "research", "--repo", "Acme/Tasks").out == "made research\n"
    made = proctor("user", "create", "ada@example.org")
    assert made.out == "made ada@example.org\n"
    assert "token create --user ada@example.org" in made.err
    issued = proctor("token", "create", "--user", "ada@example.org", "--name", "laptop")
    assert re.fullmatch(r"proctor_[A-Za-z0-9_-]{43}\n", issued.out)
    ada = issued.out.strip()
    assert ada not in issued.err
    assert re.fullmatch(r"token \S+, good until \S+; printed once on stdout\n", issued.err)

    refused = proctor("workspace", "info", "research", token=ada)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == "proctor: there is no workspace 'research', or you aren't a member of it\n"
    added = proctor("workspace", "add-member", "research", "ada@example.org", "--role", "admin")
    assert added.out == "ada@example.org is admin of research\n"
    table = proctor("workspace", "members", "research", token=ada).out.splitlines()
    assert [line.split()[:3] for line in table if "@" in line] == [
        ["ada@example.org", "ada", "admin"],
        ["owner@localhost", "owner", "owner"],
    ]
    changed = proctor("workspace", "set-role", "research", "ada@example.org", "viewer", "--json")
    assert json.loads(changed.out)["role"] == "viewer"
    assert proctor("workspace", "set-role", "research", "ada@example.org", "--role", "viewer").code == 0
    assert "this needs the role owner" in proctor("workspace", "billing", "research", "suspended", token=ada).err
    assert proctor("workspace", "billing", "research", "suspended").out == "billing of research is suspended\n"
    assert proctor("workspace", "bind-repo", "research", "none").out == "no repository stands for research\n"
    assert "only owner" in proctor("workspace", "remove-member", "research", "owner").err

    (token,) = json.loads(proctor("token", "list", "--json", token=ada).out)
    assert (token["name"], "token" in token) == ("laptop", False)
    left = datetime.fromisoformat(token["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=89) < left <= timedelta(days=90)
    assert proctor("token", "revoke", token["id"], token=ada).out == f"revoked {token['id']}\n"
    assert "holder ada@example.org" in proctor("audit", "--workspace", "research").out
    ended = proctor("workspace", "list", token=ada)
    assert (ended.code, ended.err) == (3, "proctor: this token was revoked: check PROCTOR_TOKEN\n")
    assert proctor("workspace", "remove-member", "research", "ada@example.org").code == 0

    audit = json.loads(proctor("--workspace", "research", "audit", "--json").out)
    assert [entry["action"] for entry in reversed(audit)] == [
        "workspace.created",
        "member.added",
        "workspace.repo_bound",
        "member.added",
        "member.role_changed",
        "billing.changed",
        "workspace.repo_bound",
        "token.revoked",
        "member.removed",
    ]
    shown = proctor("--workspace", "research", "audit", "--limit", "1").out
    assert re.search(r"owner@localhost +member\.removed +ada@example\.org +was viewer", shown)
    assert "workspace" in proctor("--workspace", "nowhere", "audit").err
    assert "ASCII" in proctor("--workspace", "研究", "audit").err


EXPIRY = [
    ("12h", "2026-01-01T12:00:00+00:00"),
    ("90d", "2026-04-01T00:00:00+00:00"),
    ("1w", "2026-01-08T00:00:00+00:00"),
]


def test_when_a_token_ends() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert [(text, read_expiry(text, now)) for text, _ in EXPIRY] == EXPIRY
    assert read_expiry("never", now) is None
    for text in ("", "90", "d", "0d", "1y", "-1d", "1.5d", "100000d"):
        with pytest.raises(typer.BadParameter):
            read_expiry(text, now)
