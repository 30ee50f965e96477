"""Events as they are stored: every version ever shipped is read, what is newer or unknown stops the reader."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contracts import records
from proctor.contracts.catalogue import CATALOGUE
from proctor.contracts.events import ANY_EVENT, Event, RunSubmitted, RunWaiting
from proctor.contracts.records import VERSION_HEADER, UnknownEvent, decode, encode, version_of

FIXTURES = sorted((Path(__file__).parent / "fixtures" / "events").glob("*.json"))


def parts(fixture: Path) -> tuple[str, int]:
    event_type, _, version = fixture.name.removesuffix(".json").rpartition(".v")
    return event_type, int(version)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.stem)
def test_every_stored_version_is_read_as_the_current_class(fixture: Path) -> None:
    event_type, version = parts(fixture)
    event = decode(fixture.read_bytes(), {VERSION_HEADER: str(version)})
    assert event.type == event_type
    if version == version_of(event_type):
        stored = json.loads(fixture.read_text())
        assert json.loads(encode(event)) == stored, "what was stored is what is understood, nothing dropped or added"


def test_a_run_submitted_before_agents_had_names_is_read() -> None:
    body = json.loads(next(fixture for fixture in FIXTURES if fixture.name == "run.submitted.v1.json").read_text())
    for agent in body["config"]["agents"]:
        del agent["name"]
    event = decode(json.dumps(body).encode(), {VERSION_HEADER: "1"})
    assert isinstance(event, RunSubmitted)
    assert [agent.name for agent in event.config.agents] == [None, None, None]


def test_every_type_has_a_fixture_of_each_of_its_versions() -> None:
    wanted = {(kind, version) for kind in CATALOGUE for version in range(1, version_of(kind) + 1)}
    assert {parts(fixture) for fixture in FIXTURES} == wanted


def test_every_step_between_versions_has_an_upcaster() -> None:
    steps = {(kind, version) for kind in CATALOGUE for version in range(1, version_of(kind))}
    assert set(records.UPCASTERS) == steps


def test_an_event_is_read_as_it_was_written(make_event: Callable[..., Event]) -> None:
    event = make_event("sandbox.abandoned", worker="runner-1", count=2)
    assert decode(encode(event), {}) == event


def test_old_versions_go_through_every_step_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(records.VERSIONS, "run.waiting", 3)
    monkeypatch.setitem(
        records.UPCASTERS, ("run.waiting", 1), lambda body: {"type": body["type"], "why": f"{body['text']}, 2"}
    )
    monkeypatch.setitem(
        records.UPCASTERS, ("run.waiting", 2), lambda body: {"type": body["type"], "reason": f"{body['why']}, 3"}
    )
    first, second = b'{"type":"run.waiting","text":"1"}', b'{"type":"run.waiting","why":"2"}'
    assert decode(first, {VERSION_HEADER: "1"}) == RunWaiting(reason="1, 2, 3")
    assert decode(first, {}) == RunWaiting(reason="1, 2, 3"), "no header is version 1"
    assert decode(second, {VERSION_HEADER: "2"}) == RunWaiting(reason="2, 3")
    assert decode(encode(RunWaiting(reason="now")), {VERSION_HEADER: "3"}) == RunWaiting(reason="now")


def test_a_newer_version_says_so_plainly() -> None:
    with pytest.raises(UnknownEvent) as caught:
        decode(b'{"type":"run.waiting","reason":"x","since":3}', {VERSION_HEADER: "2"})
    assert str(caught.value) == "event run.waiting has version 2, this program reads up to 1: upgrade it"


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"run.danced"}',
        b'{"type":"run.waiting"}',
        b'{"type":"run.waiting","reason":"x","more":1}',
        b'{"type":"run.waiting","reason":7}',
        b'{"reason":"x"}',
        b"[]",
        b"7",
        b"not json",
        b"",
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_read_is_never_skipped(data: bytes) -> None:
    with pytest.raises(UnknownEvent, match="event"):
        decode(data, {})


@pytest.mark.parametrize("version", ["", "x", "1.5"])
def test_a_version_that_is_no_number_stops_the_reader(version: str) -> None:
    with pytest.raises(UnknownEvent, match="version"):
        decode(b'{"type":"run.waiting","reason":"x"}', {VERSION_HEADER: version})


@pytest.mark.parametrize(
    "key", ["0-0", "a-0-1", "0-0-1-2", "-1-0-1", "00-0-1", "0-0-0", "0-0-01", "٣-0-1", "0-0-1\n", ""]
)
def test_an_attempt_has_one_spelling(make_event: Callable[..., Event], key: str) -> None:
    body: dict[str, Any] = {"type": "attempt.cleaned", "attempt": key, "epoch": 1, "sandbox": "s"}
    with pytest.raises(ValueError, match="attempt"):
        ANY_EVENT.validate_python(body)
