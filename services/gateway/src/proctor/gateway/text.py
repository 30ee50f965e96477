"""Text that may go into an event: it is shown in terminals and stored in PostgreSQL, so it holds nothing invisible
that acts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, cast

from pydantic import AfterValidator

type Place = tuple[str | int, ...]

_ACTING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]")
"""Controls, separators of lines and paragraphs, bidirectional overrides and isolates, what is nothing but invisible,
halves of surrogate pairs. Joiners (U+200C, U+200D) stay: scripts and emoji are written with them."""
_LAYOUT: Final = str.maketrans("", "", "\n\t")


def fault(text: str) -> str | None:
    """Why the text can't be one line of an event."""
    found = _ACTING.search(text)
    return f"must not hold the control character U+{ord(found[0]):04X}; leave it out" if found else None


def faults(value: object, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Those of every text in a JSON value, keys included, each at its place."""
    if isinstance(value, str):
        if (found := fault(value)) is not None:
            yield place, found
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from ((place, found) for found in [fault(key)] if found)
            yield from faults(item, (*place, key))
    elif isinstance(value, Iterable):
        for index, item in enumerate(cast("Iterable[object]", value)):
            yield from faults(item, (*place, index))


def storable(text: str) -> bool:
    """Whether PostgreSQL takes it as text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _one_line(text: str) -> str:
    if (found := fault(text)) is not None:
        raise ValueError(found)
    return text


def _lines(text: str) -> str:
    _one_line(text.translate(_LAYOUT))
    return text


Plain = Annotated[str, AfterValidator(_one_line)]
PlainLines = Annotated[str, AfterValidator(_lines)]
"""The same over several lines, with tabs."""
