"""CSV as RFC 4180 has it: commas, quotes where needed, CRLF, UTF-8. Unknown is an empty cell."""

import csv
import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from types import NoneType
from typing import Any, Final, TextIO

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
"""How a text begins that a spreadsheet would run, or that stands for one already."""


def write_rows(file: TextIO, rows: Iterable[Iterable[Any]]) -> None:
    csv.writer(file, lineterminator="\r\n").writerows([cell(value) for value in row] for row in rows)


def cell(value: object) -> str:
    return _TEXTS.get(type(value), str)(value)


def guarded(text: str) -> str:
    """With an apostrophe in front of what a spreadsheet would take for a formula. Taking one away from a text that
    still begins so gives back the original."""
    return f"'{text}" if _FORMULA.match(text) else text


def moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


# by the very type, as the database's client gives it: a table has millions of cells
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    NoneType: lambda _: "",
    str: guarded,
    bool: lambda value: "true" if value else "false",
    Decimal: "{:f}".format,
    datetime: moment,
    dict: _JSON,
    list: _JSON,
}
