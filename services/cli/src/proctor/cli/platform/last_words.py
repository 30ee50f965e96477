"""What a program said before it died, from its log."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

from pydantic_core import from_json

KEPT: Final = 4
_TAIL_BYTES: Final = 64 * 1024


def last_words(log: Path) -> tuple[str, ...]:
    """The last lines that differ, of a log in JSON or plain text; of a traceback its last line, which is the error."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return said(lines)


def said(lines: Iterable[str]) -> tuple[str, ...]:
    words = [text for line in lines if (text := _text(line))]
    distinct = dict.fromkeys(reversed(words))
    return tuple(reversed(list(distinct)[:KEPT]))


def _text(line: str) -> str:
    try:
        entry = cast("dict[str, Any]", from_json(line))
        event, exception = str(entry["event"]), str(entry.get("exception") or "")
    except (ValueError, TypeError, KeyError):
        return line.strip()
    return f"{event}: {exception.strip().splitlines()[-1].strip()}" if exception.strip() else event
