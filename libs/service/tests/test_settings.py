from typing import Literal

import pytest
from pydantic import Field

from proctor.service.settings import Settings, read_settings


class Toy(Settings):
    mode: Literal["fast", "slow"] = "fast"
    size: int = Field(default=1, ge=1, le=9)
    front: int = Field(default=1, gt=0, validation_alias="PROCTOR_DOOR")
    share: float = 0.5


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PROCTOR_MODE", "nope", "it must be one of fast, slow"),
        ("PROCTOR_SIZE", "x", "it must be a whole number from 1 to 9"),
        ("PROCTOR_SIZE", "10", "it must be a whole number from 1 to 9"),
        ("PROCTOR_DOOR", "0", "it must be a whole number over 0"),
        ("PROCTOR_LOG_FORMAT", "", "it must be one of json, text"),
        ("PROCTOR_SHARE", "half", "number"),
    ],
)
def test_an_invalid_setting_is_one_line_with_what_is_allowed(
    name: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as exit_:
        read_settings(Toy)
    assert exit_.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"proctor: {name} is {value!r}: ")
    assert allowed in line


def test_every_invalid_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PROCTOR_MODE", "nope")
    monkeypatch.setenv("PROCTOR_SIZE", "x")
    with pytest.raises(SystemExit):
        read_settings(Toy)
    (line,) = capsys.readouterr().err.splitlines()
    assert "PROCTOR_MODE" in line
    assert "PROCTOR_SIZE" in line


def test_valid_settings_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_MODE", "slow")
    assert read_settings(Toy).mode == "slow"
