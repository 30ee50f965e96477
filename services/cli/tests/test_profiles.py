"""The file that holds the servers and their tokens."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proctor.cli.failure import Misused
from proctor.cli.profiles import Profile, Profiles, change_profiles, check_name, profiles_file, read_profiles

LAB = Profile(url="https://lab.example/", token="proctor_secret", workspace="research")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "proctor" / "profiles.toml"


def test_what_is_written_is_read_again_and_nobody_elses(config: Path) -> None:
    written = change_profiles(lambda known: known.having("lab", LAB, use=True))
    assert read_profiles() == written == Profiles(use="lab", profiles={"lab": LAB})
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    assert [path.name for path in config.parent.iterdir()] == ["profiles.toml"]
    assert config.read_text() == (
        'use = "lab"\n\n[profiles.lab]\nurl = "https://lab.example"\ntoken = "proctor_secret"\nworkspace = "research"\n'
    )


def test_a_profile_that_goes_is_no_longer_in_use() -> None:
    change_profiles(lambda known: known.having("lab", LAB, use=True).having("b", LAB, use=False))
    assert change_profiles(lambda known: known.without("b")).use == "lab"
    assert change_profiles(lambda known: known.without("lab")) == Profiles()


def test_changes_at_once_are_all_kept() -> None:
    def add(number: int) -> None:
        change_profiles(lambda known: known.having(f"p{number}", LAB, use=False))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    assert set(read_profiles().profiles) == {f"p{number}" for number in range(24)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('use = "lab"\n[profiles.lab\n', r"line 2: .*column 14"),
        ("use = lab\n", "line 1: .*a text needs quotes"),
        ('[profiles.lab]\nurl = "https://x"\n', r"profiles\.lab\.token: Field required"),
        ('[profiles.lab]\nurl = "lab"\ntoken = "x"\n', r"profiles\.lab\.url: not the address of a server"),
        ('[profiles.lab]\nurl = "https://x"\ntoken = "x"\ncolour = 1\n', r"profiles\.lab\.colour: Extra inputs"),
    ],
)
def test_a_broken_file_says_where_and_no_token(config: Path, text: str, said: str) -> None:
    config.parent.mkdir()
    config.write_text(f'{text}\n[profiles.other]\ntoken = "proctor_secret"\n' if "line" not in said else text)
    config.chmod(0o600)
    with pytest.raises(Misused, match=said) as caught:
        read_profiles()
    assert caught.value.message.startswith(f"{config}: ")
    assert "proctor_secret" not in str(caught.value.details) + caught.value.message


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_can_read_is_refused(config: Path, mode: int) -> None:
    change_profiles(lambda known: known.having("lab", LAB, use=True))
    config.chmod(mode)
    with pytest.raises(Misused, match=rf"others can read .*\(mode {mode:o}\): `chmod 600 {config}`"):
        read_profiles()


def test_no_file_is_no_profile_and_a_relative_folder_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_profiles() == Profiles()
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert profiles_file() == Path.home() / ".config" / "proctor" / "profiles.toml"


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "x" * 64, "ä"])
def test_names_that_no_profile_has(name: str) -> None:
    with pytest.raises(Misused):
        check_name(name)
