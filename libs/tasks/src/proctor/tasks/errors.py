"""What a task, dataset or package author is told when something is refused."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError


class TaskInvalid(ValueError):
    """A task, dataset or package that can't be used; the text names the file, the place and the fix."""


# What to do, by pydantic's error type; the problem itself is pydantic's own sentence.
_FIXES: Final[Mapping[str, str]] = {
    "missing": "add it",
    "string_type": "put the value in quotes",
    "dict_type": "write it as a table",
    "list_type": "write it as an array: [...]",
    "tuple_type": "write it as an array: [...]",
    "model_type": "write it as a table",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "float_parsing": "write a number without quotes",
    "int_parsing": "write a whole number without quotes",
    "int_from_float": "write a whole number",
}
# Values below these keys can hold credentials and are never repeated.
_PRIVATE: Final = frozenset({"env", "headers"})


def explain(error: ValidationError, file: str) -> str:
    """One line per problem: `file: key: what is wrong (got ...); how to mend it`."""
    lines = [_line(file, details["loc"], details) for details in error.errors(include_url=False)]
    return "\n".join(dict.fromkeys(lines))


def dotted(location: tuple[int | str, ...]) -> str:
    """`("steps", 0, "agent")` -> `steps[0].agent`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def shortened(value: object) -> str:
    """The value as text of at most 80 characters; a number of thousands of digits has none."""
    try:
        return str(value)[:80]
    except ValueError:
        return "a number too long to be shown"


def _line(file: str, location: tuple[int | str, ...], details: Mapping[str, Any]) -> str:
    message = str(details["msg"]).removeprefix("Value error, ")
    got = details["input"]
    if not _PRIVATE.intersection(location) and isinstance(got, str | int | float) and details["type"] != "value_error":
        message += f" (got {shortened(got)!r})"
    fix = _FIXES.get(details["type"])
    where = f"{file}: {dotted(location)}" if location else file
    return f"{where}: {message}" + (f"; {fix}" if fix else "")
