"""TOML that people write: what can't be read is told with its line."""

import re
import tomllib
from typing import Any, Final

from proctor.cli.failure import Misused

_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse_toml(text: str, file: str, *, shown: bool = True) -> dict[str, Any]:
    """Raises Misused with the file, the line and the problem. `shown`: the line itself may be repeated."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem, line = _place(text, str(error))
        words = (text.splitlines() or [""])[line - 1]
        raise Misused(f"{file}: line {line}: {problem}", details=(f"{line}: {words}",) if shown else ()) from None


def _place(text: str, message: str) -> tuple[str, int]:
    """The problem, and the line it is in: counted from 1, the last one with text where the end came too soon."""
    if place := _PLACE.search(message):
        problem, line = f"{message[: place.start()].strip()}, at column {place[2]}", int(place[1])
    else:
        problem, line = message, len(text.rstrip().splitlines())
    hint = "; a text needs quotes" if "Invalid value" in message else ""
    return problem[:1].lower() + problem[1:] + hint, max(1, line)
