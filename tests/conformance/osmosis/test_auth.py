"""`osmosis auth`, scopes, and what the command says of its own version."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

BIN = Path(sys.prefix) / "osmosis" / "bin"


def test_who_am_i(site: Any) -> None:
    plain = site.ok("auth", "whoami")["data"]
    assert "owner@localhost" in str(plain)
    bound = site.ok("auth", "whoami", git=True)["data"]
    assert "default" in str(bound)
    for mode in ([], ["--plain"]):
        shown = site.osmosis("auth", "whoami", *mode)
        assert (shown.code, "owner@localhost" in shown.out) == (0, True)


def test_a_bad_token_and_a_bad_scope(site: Any) -> None:
    for command in (["benchmark", "list"], ["benchmark", "runs", "list"], ["auth", "whoami"]):
        error = site.osmosis("--json", *command, OSMOSIS_TOKEN="proctor_guess").error
        assert error["code"] == "AUTH_REQUIRED"
    for name in ("nowhere", "Default"):
        error = site.osmosis("--json", "--workspace", name, "benchmark", "list", git=True).error
        assert error["details"]["platform_code"] == "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"
    with site.client() as client:
        client.patch("/workspaces/default", json={"repo": None})
        try:
            error = site.osmosis("--json", "benchmark", "list", git=True).error
            assert error["details"]["platform_code"] == "GIT_REPOSITORY_ACCESS_DENIED"
            retried = site.ok("auth", "whoami", git=True)["data"]
            assert "owner@localhost" in str(retried)
        finally:
            client.patch("/workspaces/default", json={"repo": "acme/bench"})


def test_a_device_signs_in_once_somebody_approves_and_out_again(site: Any, tmp_path: Path) -> None:
    env = site.env(HOME=str(tmp_path), OSMOSIS_TOKEN=None, OSMOSIS_TOKEN_PLATFORM_URL=None, PYTHONUNBUFFERED="1")
    process = subprocess.Popen(
        [BIN / "osmosis", "auth", "login"],
        env=env,
        cwd=tmp_path,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = ""
    while (code := re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", said)) is None:
        line = process.stdout.readline()
        assert line, said
        said += line
    approved = subprocess.run(
        [sys.executable, "-m", "proctor.cli.main", "device", "approve", code[0]],
        env={**os.environ, "PROCTOR_URL": site.url, "PROCTOR_TOKEN": site.token},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (approved.returncode, approved.stderr) == (0, "")
    said += process.stdout.read()
    assert process.wait(10) == 0, said
    assert f"{site.url}/device?user_code={code[0]}" in said

    def signed_in(*arguments: str) -> Any:
        return site.osmosis(
            "--json", *arguments, HOME=str(tmp_path), OSMOSIS_TOKEN=None, OSMOSIS_TOKEN_PLATFORM_URL=None
        )

    assert "owner@localhost" in signed_in("auth", "whoami").out
    assert signed_in("benchmark", "list").json["total_count"] == 2
    (saved,) = (tmp_path / ".config" / "osmosis").glob("*.json")
    token = re.search(r"proctor_[\w-]+", saved.read_text())
    assert token is not None
    out = signed_in("auth", "logout", "--yes")
    assert (out.code, out.err) == (0, "")
    assert signed_in("benchmark", "list").error["code"] == "AUTH_REQUIRED"
    revoked = site.osmosis("--json", "benchmark", "list", OSMOSIS_TOKEN=token[0]).error
    assert revoked["code"] == "AUTH_REQUIRED"
    assert "revoked" in revoked["message"].lower()


def test_a_token_is_saved(site: Any, tmp_path: Path) -> None:
    bare = {"HOME": str(tmp_path), "OSMOSIS_TOKEN": None, "OSMOSIS_TOKEN_PLATFORM_URL": None}
    saved = site.osmosis("--json", "auth", "login", "--token", site.token, **bare)
    assert saved.code == 0, saved
    assert site.osmosis("--json", "benchmark", "list", **bare).code == 0
    refused = site.osmosis("--json", "auth", "login", "--token", "proctor_guess", **bare).error
    assert refused["code"] == "AUTH_REQUIRED"


def test_quickstart_in_a_terminal(site: Any) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / "osmosis", "quickstart"],
        env=site.env(TERM="xterm"),
        cwd=site.clone,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = ""
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        while "Just exploring" not in said:
            said += terminal.read(4096).decode(errors="replace")
        terminal.write(b"\x1b[B\x1b[B\r")
        with suppress(OSError):
            while chunk := terminal.read(4096):
                said += chunk.decode(errors="replace")
    assert process.wait(20) == 0, said
    assert f"{site.url}/default/benchmarks" in said
    headers = {"Authorization": f"Bearer {site.token}"}
    answer = httpx.get(f"{site.url}/api/cli/quickstart", params={"organizationId": "default"}, headers=headers)
    assert answer.json() == {"repo": {"connected": True, "full_name": "acme/bench"}, "billing_ready": True} | {
        "completed": True
    }


def test_the_doctor_finds_nothing_wrong(site: Any) -> None:
    for name in ("AGENTS.md", "CLAUDE.md", "configs/AGENTS.md"):
        (site.clone / name).write_text("# ours\n")
    found = site.osmosis("--json", "doctor", git=True)
    assert found.code == 0, found


AS_VERSION = """
import sys
import osmosis_ai.consts
osmosis_ai.consts.PACKAGE_VERSION = sys.argv.pop(1)
from osmosis_ai.cli.main import main
sys.exit(main())
"""


def test_an_old_command_is_warned_and_a_very_old_one_refused(site: Any) -> None:
    def listed(version: str) -> tuple[int, str]:
        argv = [str(BIN / "python"), "-c", AS_VERSION, version, "--json", "--workspace", "default", "benchmark", "list"]
        done = subprocess.run(argv, env=site.env(), cwd=site.folder, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    assert listed("0.3.8") == (0, "")
    code, said = listed("0.3.5")
    assert (code, "UPGRADE_AVAILABLE" in said) == (0, True)
    code, said = listed("0.2.0")
    assert code == 1
    assert "UPGRADE_REQUIRED" in said
    assert "0.3.8" in said
