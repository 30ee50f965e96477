"""Reads what is sound of a section that isn't sound as a whole, so that one mistake doesn't hide the others."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from proctor.gateway.submission.findings import MOST, issue_of, key_of, more, place_of
from proctor.gateway.text import Place
from proctor.service.errors import Issue

_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Reading[Part]:
    """`value` is None when nothing of it is sound. `left_out`: the places that `value` lacks for that reason."""

    value: Part | None
    issues: tuple[Issue, ...] = ()
    left_out: frozenset[Place] = frozenset()


def read[Part](kind: TypeAdapter[Part], raw: object, at: Place) -> Reading[Part]:
    """Leaves out what doesn't validate, the smallest part that can be, until the rest does."""
    issues: tuple[Issue, ...] = ()
    left_out: set[Place] = set()
    while raw is not _NOTHING:
        try:
            return Reading(kind.validate_python(raw), issues, frozenset(left_out))
        except ValidationError as error:
            details = error.errors(include_url=False)
        if len(details) > MOST:
            told = [issue_of(detail, at) for detail in details[:MOST]]
            return Reading(None, (*told, more(key_of(at), len(details) - MOST)), frozenset({at}))
        # the first time says it all: later ones only miss what was left out
        issues = issues or tuple(issue_of(detail, at) for detail in details)
        broken = [place_of(detail, at)[len(at) :] for detail in details]
        raw = _without(raw, broken, at, left_out)
    return Reading(None, issues, frozenset(left_out))


def _without(value: object, broken: Collection[Place], at: Place, left_out: set[Place]) -> object:
    """A place that isn't there is a mistake of what should hold it."""
    items = _items(value)
    if any(not place or place[0] not in items for place in broken):
        left_out.add(at)
        return _NOTHING
    inside: defaultdict[str | int, list[Place]] = defaultdict(list)
    for head, *rest in broken:
        inside[head].append(tuple(rest))
    for part, places in inside.items():
        items[part] = _without(items[part], places, (*at, part), left_out)
    kept = {part: item for part, item in items.items() if item is not _NOTHING}
    return list(kept.values()) if isinstance(value, list) else kept


def _items(value: object) -> dict[str | int, object]:
    if isinstance(value, list):
        return dict(enumerate(cast("list[object]", value)))
    return dict(cast("dict[str | int, Any]", value)) if isinstance(value, dict) else {}
