"""How long something is good for, as people write it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def read_expiry(text: str, now: datetime | None = None) -> str | None:
    """`12h`, `90d`, `4w` from now as ISO 8601; None for `never`."""
    if text == "never":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is neither like 12h, 90d or 4w nor never", param_hint="--expires")
    return ((now or datetime.now(UTC)) + int(match[1]) * _UNITS[match[2]]).isoformat(timespec="seconds")
