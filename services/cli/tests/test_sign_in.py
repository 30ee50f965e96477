"""Servers and who one is there, against a real gateway."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.completion import completion_init  # pyright: ignore[reportPrivateImportUsage] - no other place has it

from proctor.cli import device_login
from proctor.cli.commands import login as login_command
from proctor.cli.device_login import Code, begin, wait_for_token
from proctor.cli.failure import Failure
from proctor.cli.profiles import read_profiles

type Proctor = Callable[..., Any]


class Person:
    """Who approves codes: the owner, at the API."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.http = httpx.Client(base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"})

    def decide(self, code: Code, *, approve: bool) -> None:
        assert self.http.post(f"/device/{code.shown}", json={"approve": approve}).is_success

    def tokens(self) -> list[str]:
        return [token["name"] for token in self.http.get("/tokens").json()["items"]]


@pytest.fixture
def owner(gateway: str, tmp_path: Path) -> Person:
    return Person(gateway, (tmp_path / "home" / "token").read_text().strip())


@pytest.fixture
def approved(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every code is approved as soon as it is shown, and nobody waits between polls."""

    def wait(url: str, code: Code) -> str:
        owner.decide(code, approve=True)
        return wait_for_token(url, code, lambda _: None)

    monkeypatch.setattr(login_command, "wait_for_token", wait)


@pytest.fixture
def alone(gateway: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The gateway's address; nothing in the environment leads there."""
    monkeypatch.delenv("PROCTOR_HOME")
    monkeypatch.delenv("PROCTOR_URL")
    return gateway


@pytest.mark.usefixtures("approved")
def test_from_signing_in_to_signing_out(proctor: Proctor, alone: str, owner: Person) -> None:
    done = proctor("login", f"{alone}/", "--profile", "lab")
    assert (done.code, done.out) == (0, "signed in as owner@localhost; lab is in use\n")
    assert f"open {alone}/device?user_code=" in done.err
    assert len(owner.tokens()) == 2
    token = read_profiles().profiles["lab"].token
    assert token not in done.out + done.err

    who = json.loads(proctor("whoami", "--json").out)
    assert (who["url"], who["user"]["email"], who["workspace"]["name"]) == (alone, "owner@localhost", "default")
    assert len(json.loads(proctor("token", "list", "--json").out)) == 2
    listed = json.loads(proctor("profile", "list", "--json").out)
    assert listed == [{"name": "lab", "url": alone, "workspace": None, "insecure": False, "in_use": True}]

    taken = proctor("login", "https://other.example", "--profile", "lab")
    assert (taken.code, "lab is for" in taken.err) == (2, True)
    assert proctor("logout").out == "signed out of lab\n"
    assert len(owner.tokens()) == 1
    assert read_profiles().profiles == {}
    assert httpx.get(f"{alone}/api/v1/whoami", headers={"Authorization": f"Bearer {token}"}).status_code == 401

    # the same server once more takes the profile's place
    assert [proctor("login", alone, "--profile", "lab").code for _ in range(2)] == [0, 0]
    assert read_profiles().use == "lab"


def test_profiles_by_hand(proctor: Proctor, alone: str, owner: Person) -> None:
    token = owner.http.headers["Authorization"].removeprefix("Bearer ")
    refused = proctor("profile", "add", "lab", "--url", alone, given="proctor_wrong\n")
    assert (refused.code, refused.err) == (3, "proctor: this token isn't known here: check the token\n")
    assert read_profiles().profiles == {}
    assert proctor("profile", "add", "lab", "--url", alone, given="").code == 2
    foreign = proctor("profile", "add", "lab", "--url", alone, "--workspace", "nowhere", given=token)
    assert (foreign.code, "workspace" in foreign.err) == (3, True)
    assert proctor("profile", "add", "lab", "--url", alone, given=f"{token}\n").out == f"added lab, {alone}, in use\n"
    away = proctor("profile", "add", "away", "--url", "https://away.example", "--no-check", given="t")
    assert away.out == "added away, https://away.example\n"
    assert "already" in proctor("profile", "add", "lab", "--url", alone, given=token).err
    assert proctor("whoami").code == 0
    assert proctor("profile", "use", "away").out == "away is in use: https://away.example\n"
    assert proctor("--profile", "lab", "whoami").code == 0
    assert "did you mean away?" in proctor("profile", "remove", "awy").err
    unknown = proctor("--profile", "lab", "token", "revoke", "nope", "--json")
    said = json.loads(unknown.err)["error"]
    assert (unknown.code, unknown.out, said["status"], said["code"]) == (3, "", 404, "NOT_FOUND")

    # the token of a home isn't a profile's to end
    kept = proctor("logout", "lab")
    assert (kept.code, kept.out) == (0, "forgot lab\n")
    assert owner.http.get("/whoami").is_success
    assert [*read_profiles().profiles] == ["away"]


def test_a_code_is_denied_or_seen_by_nobody_or_asked_for_too_often(owner: Person) -> None:
    denied = begin(owner.url)
    owner.decide(denied, approve=False)
    with pytest.raises(Failure, match="denied") as caught:
        wait_for_token(owner.url, denied, lambda _: None)
    assert caught.value.code == 3
    unseen = begin(owner.url)._replace(seconds=0)
    with pytest.raises(Failure, match=f"nobody approved {unseen.shown} in time"):
        wait_for_token(owner.url, unseen)

    # one that asks too often slows down
    code, waited = begin(owner.url), list[float]()

    def hurry(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            owner.decide(code, approve=True)

    assert wait_for_token(owner.url, code, hurry).startswith("proctor_")
    assert waited == [code.interval, code.interval, code.interval + device_login.SLOWER_SECONDS]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ("run list --limit 0", 2, {"details": []}),
        ("run lst", 2, {"details": []}),
        ("run submit missing.toml", 2, {"message": "can't read missing.toml: No such file or directory"}),
        ("run submit missing.toml --timeout 1", 2, {"details": []}),
        (
            "--profile nope run list",
            2,
            {"message": "PROCTOR_PROFILE: there is no profile nope: `proctor profile list` shows what there is"},
        ),
    ],
)
def test_an_error_is_one_object_of_json_and_a_code(
    proctor: Proctor, words: str, code: int, error: dict[str, Any]
) -> None:
    done = proctor(*words.split(), "--json")
    assert (done.code, done.out) == (code, "")
    (line,) = done.err.splitlines()
    said = json.loads(line)["error"]
    assert {key: said[key] for key in error} == error
    assert said["message"]


def test_nobody_there_is_a_code_of_its_own(
    proctor: Proctor, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_URL", f"http://127.0.0.1:{free_port()}")
    done = proctor("run", "list", "--json", token="t")
    assert (done.code, json.loads(done.err)["error"]["message"].startswith("nothing answers at http://")) == (4, True)


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        ("proctor run ret", ["retry"]),
        ("proctor run list --status f", ["finished", "failed"]),
        ("proctor benchmark add --harness ", ["oracle", "nop", "command"]),
        ("proctor --profile ", ["lab"]),
        ("proctor profile use l", ["lab"]),
        ("proctor run info ", []),
        ("proctor --profile lab run info ", []),
    ],
)
def test_words_that_a_shell_is_offered(
    proctor: Proctor, words: str, choices: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where no server answers."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    assert proctor("profile", "add", "lab", "--url", "http://127.0.0.1:9", "--no-check", given="t").code == 0
    completion_init()
    monkeypatch.setenv("_PROCTOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    done = proctor()
    assert (done.out.split(), done.err) == (choices, "")


@pytest.mark.parametrize(
    ("shell", "line"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_the_script_of_a_shell_is_printed_and_nothing_written(
    proctor: Proctor, shell: str, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = proctor("completion", shell)
    assert (done.code, line in done.out, "_PROCTOR_COMPLETE" in done.out) == (0, True, True)
    assert list(tmp_path.iterdir()) == []
