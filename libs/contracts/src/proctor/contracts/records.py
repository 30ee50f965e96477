"""A recorded event, and how it is written and read: version, upcasting, headers."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, cast

from pydantic_core import from_json

from proctor.contracts.events import ANY_EVENT, Event
from proctor.contracts.work import Frozen

VERSION_HEADER: Final = "Proctor-Version"
OCCURRED_HEADER: Final = "Proctor-Occurred-At"
CAUSE_HEADER: Final = "Proctor-Causation"
ACTOR_HEADER: Final = "Proctor-Actor"

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

VERSIONS: Final[dict[str, int]] = {
    "run.submitted": 2,
    "run.attempts_cancelled": 2,
    "attempt.cleaned": 2,
    "benchmark.added": 2,
    "grade.dispatched": 2,
}
"""The current schema version of each event type; 1 where it isn't listed."""

UPCASTERS: Final[dict[tuple[str, int], Upcaster]] = {
    # what version 2 has more is optional
    ("run.submitted", 1): lambda body: body,
    ("run.attempts_cancelled", 1): lambda body: body,
    ("attempt.cleaned", 1): lambda body: body,
    ("benchmark.added", 1): lambda body: body,
    ("grade.dispatched", 1): lambda body: body,
}
"""(type, version) -> the step that makes a body of that version one of the next."""


class UnknownEvent(Exception):
    """An event of a type or version that this program doesn't know: it must be upgraded, never skip it."""


class Recorded(Frozen):
    """An event at its place in the log. `recorded_at` is the bus's clock, `occurred_at` the writer's: shown only."""

    sequence: int
    workspace: str
    aggregate: str
    id: str
    writer: str
    recorded_at: datetime
    occurred_at: datetime | None
    actor: str | None
    event: Event


def version_of(event_type: str) -> int:
    return VERSIONS.get(event_type, 1)


def encode(event: Event) -> bytes:
    """The event's body. What can't be read back is never written: the log can't be mended. Raises ValueError."""
    data = event.model_dump_json().encode()
    ANY_EVENT.validate_json(data)
    return data


def decode(data: bytes, headers: Mapping[str, str]) -> Event:
    """The event as its current class. Raises `UnknownEvent` naming the type and version it can't read."""
    event_type, version, body = _opened(data, headers.get(VERSION_HEADER, "1"))
    current = version_of(event_type)
    if version > current:
        raise UnknownEvent(f"event {event_type} has version {version}, this program reads up to {current}: upgrade it")
    for step in range(version, current):
        body = UPCASTERS[event_type, step](body)
    try:
        return ANY_EVENT.validate_python(body)
    except ValueError as error:
        raise UnknownEvent(f"event {event_type} version {version} can't be read: {error}") from error


def _opened(data: bytes, version: str) -> tuple[str, int, dict[str, Any]]:
    try:
        body = cast("dict[str, Any]", from_json(data))
        return str(body["type"]), int(version), body
    except (ValueError, TypeError, KeyError) as error:
        raise UnknownEvent(f"an event of version {version!r} can't be read: {error!r}") from error
