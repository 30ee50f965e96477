"""Reads task.toml: the config, and the keys it has that the schema doesn't know."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from pydantic import ValidationError

from proctor.tasks.errors import TaskInvalid, dotted, explain
from proctor.tasks.schema import TaskConfig
from proctor.tasks.table import Table

CONFIG_FILE: Final = "task.toml"


class ParsedTask(NamedTuple):
    """What task.toml says; `unknown_keys` are dotted paths, in the file's order."""

    config: TaskConfig
    unknown_keys: tuple[str, ...]


def parse_task_toml(text: str) -> ParsedTask:
    """Raises TaskInvalid with a line for every problem."""
    table = read_toml(text, CONFIG_FILE)
    try:
        config = TaskConfig.model_validate(table)
    except ValidationError as error:
        raise TaskInvalid(explain(error, CONFIG_FILE)) from None
    return ParsedTask(config, tuple(unknown_keys(table, config)))


def read_toml(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text; raises TaskInvalid that names the file and the line."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a plain ValueError: a number with thousands of digits
        hint = "; save the file without a byte order mark" if text.startswith("\ufeff") else ""
        raise TaskInvalid(f"{file}: not valid TOML: {error}{hint}") from None


def unknown_keys(table: Mapping[str, Any], model: Table) -> Iterator[str]:
    """The keys of the table, and of the tables in it, that the models made from it have no field for."""
    return (dotted(location) for location in _unknown(table, model, ()))


def _unknown(value: object, parsed: object, at: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    if isinstance(parsed, Table) and isinstance(value, dict):
        fields, legacy = type(parsed).model_fields, parsed.legacy_keys
        for key, child in cast("dict[str, object]", value).items():
            if key in fields:
                yield from _unknown(child, getattr(parsed, key), (*at, key))
            elif key not in legacy:
                yield (*at, key)
    elif isinstance(parsed, tuple) and isinstance(value, list):
        pairs = zip(cast("Sequence[object]", value), cast("tuple[object, ...]", parsed), strict=True)
        for index, (child, item) in enumerate(pairs):
            yield from _unknown(child, item, (*at, index))
