"""Which server is talked to, and as whom."""

import json
import os
from pathlib import Path

import pytest

from proctor.cli.access import Access, find_access
from proctor.cli.addresses import check_private, is_local, read_url
from proctor.cli.failure import Failure, Misused
from proctor.cli.profiles import Profile, change_profiles

LAB, OFFICE, HERE, THERE = (
    "https://lab.example",
    "https://office.example",
    "http://127.0.0.1:8701",
    "https://ci.example",
)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two profiles of which `lab` is in use, a platform in the home `here` and none in the home `idle`."""
    for variable in ("URL", "TOKEN", "PROFILE", "HOME", "WORKSPACE", "INSECURE"):
        monkeypatch.delenv(f"PROCTOR_{variable}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    change_profiles(lambda known: known.having("lab", Profile(url=LAB, token="of-lab", workspace="w1"), use=True))
    change_profiles(lambda known: known.having("office", Profile(url=OFFICE, token="of-office"), use=False))
    (tmp_path / "here" / "run").mkdir(parents=True)
    (tmp_path / "here" / "token").write_text("of-here\n")
    running = {"pid": os.getpid(), "url": HERE, "nats_url": "", "database_url": ""}
    (tmp_path / "here" / "run" / "platform.json").write_text(json.dumps(running))


def found(monkeypatch: pytest.MonkeyPatch, home: str | None, environment: dict[str, str]) -> Access:
    for name, value in environment.items():
        monkeypatch.setenv(f"PROCTOR_{name}", value)
    return find_access(Path(home) if home else None)


@pytest.mark.parametrize(
    ("home", "environment", "url", "token", "workspace"),
    [
        (None, {}, LAB, "of-lab", "w1"),
        ("here", {}, HERE, "of-here", None),
        (None, {"PROFILE": "office"}, OFFICE, "of-office", None),
        ("here", {"PROFILE": "office"}, OFFICE, "of-office", None),
        ("here", {"PROFILE": "office", "URL": THERE, "TOKEN": "t"}, THERE, "t", None),
        (None, {"URL": THERE, "TOKEN": "t"}, THERE, "t", None),
        (None, {"URL": f"{LAB}/"}, LAB, "of-lab", "w1"),
        (None, {"URL": OFFICE, "PROFILE": "office"}, OFFICE, "of-office", None),
        ("here", {"URL": THERE}, THERE, "of-here", None),
        (None, {"TOKEN": "t"}, LAB, "t", "w1"),
        ("here", {"TOKEN": "t"}, HERE, "t", None),
        (None, {"WORKSPACE": "w2"}, LAB, "of-lab", "w2"),
    ],
)
def test_the_place_that_counts(
    monkeypatch: pytest.MonkeyPatch,
    home: str | None,
    environment: dict[str, str],
    url: str,
    token: str,
    workspace: str | None,
) -> None:
    access = found(monkeypatch, home, environment)
    assert (access.url, access.token, access.workspace) == (url, token, workspace)


def test_without_any_profile_it_is_the_default_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    change_profiles(lambda known: known.using(None))
    monkeypatch.setattr("proctor.cli.access.default_home", lambda: tmp_path / "here")
    assert find_access(None).token == "of-here"


@pytest.mark.parametrize(
    ("home", "environment", "code", "said"),
    [
        ("idle", {}, 4, "no platform runs in .*idle: start one with .*--profile"),
        (None, {"PROFILE": "offic"}, 2, "PROCTOR_PROFILE: there is no profile offic: did you mean office"),
        (None, {"PROFILE": "xyz"}, 2, "`proctor profile list`"),
        (None, {"URL": THERE, "PROFILE": "office"}, 2, "goes before the profile office, which is for another"),
        (None, {"URL": "http://ci.example", "TOKEN": "t"}, 2, "plain http: everybody on the way could read the token"),
        (None, {"URL": "ci.example", "TOKEN": "t"}, 2, "PROCTOR_URL: not the address of a server"),
    ],
)
def test_what_leads_nowhere(
    monkeypatch: pytest.MonkeyPatch, home: str | None, environment: dict[str, str], code: int, said: str
) -> None:
    with pytest.raises(Failure, match=said) as caught:
        found(monkeypatch, home, environment)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8700", True),
        ("http://localhost", True),
        ("http://[::1]:1", True),
        ("http://127.evil.example", False),
        ("http://localhost.evil.example", False),
        ("http://10.0.0.1", False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert is_local(url) is local
    if not local:
        check_private(url, "--url", insecure=True)
        check_private(url.replace("http:", "https:"), "--url", insecure=False)
        with pytest.raises(Misused, match="--insecure"):
            check_private(url, "--url", insecure=False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ftp://x", "doesn't start with"),
        ("https://", "names no host"),
        ("https://u:p@x", "a user or a password"),
        ("https://x?a=1", "a query"),
        ("https://x:99999", "Port out of range"),
    ],
)
def test_an_address_that_is_none(text: str, problem: str) -> None:
    with pytest.raises(Misused, match=problem) as caught:
        read_url(text, "--url")
    assert "p@" not in caught.value.message


def test_an_address_keeps_its_path_without_the_last_slash() -> None:
    assert read_url(" https://x.example/proctor/ ", "--url") == "https://x.example/proctor"
