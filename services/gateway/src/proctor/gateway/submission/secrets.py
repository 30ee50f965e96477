"""The run's own secrets: which it needs, and their values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from proctor.contracts.config import SECRET_NAME
from proctor.gateway.submission.findings import duplicates
from proctor.gateway.submission.sound import Reading
from proctor.service.errors import Issue

MAX_SECRETS: Final = 16
MAX_VALUE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Secrets:
    """`required` may name some that `provided` lacks; an issue says so then."""

    required: tuple[str, ...] = ()
    provided: Mapping[str, str] = field(default_factory=dict[str, str])


def read_secrets(section: object) -> Reading[Secrets]:
    """`{required: [...], provided: {NAME: value}}`. No message repeats a value."""
    if section is None:
        return Reading(Secrets())
    if not isinstance(section, dict):
        return _unread(Issue("secrets", "must be a table"))
    table = cast("dict[str, Any]", section)
    required, provided = table.get("required", []), table.get("provided", {})
    issues = [
        Issue(f"secrets.{key}", "isn't a key of this section") for key in table if key not in {"required", "provided"}
    ]
    if not isinstance(required, list) or not isinstance(provided, dict):
        return _unread(*issues, Issue("secrets", "`required` must be a list and `provided` a table"))
    names = [str(name) for name in cast("list[object]", required)]
    values = cast("dict[str, Any]", provided)
    if len(names) > MAX_SECRETS:
        issues.append(Issue("secrets.required", f"must have at most {MAX_SECRETS}"))
    issues += duplicates("secrets.required", names)
    for name in dict.fromkeys(names):
        issues += _secret(name, values.get(name))
    issues += [
        Issue(f"secrets.provided.{name}", "isn't listed in secrets.required") for name in values if name not in names
    ]
    sound = {name: value for name, value in values.items() if isinstance(value, str)}
    return Reading(Secrets(tuple(names), sound), tuple(issues))


def _unread(*issues: Issue) -> Reading[Secrets]:
    return Reading(None, issues, frozenset({("secrets",)}))


def unfit(key: str, value: str) -> Iterator[Issue]:
    """Why the value can't be an environment variable's."""
    if "\0" in value:
        yield Issue(key, "holds a NUL character, which no environment variable can")
    if len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        yield Issue(key, f"is longer than {MAX_VALUE_BYTES // 1024} KiB")


def _secret(name: str, value: object) -> Iterator[Issue]:
    if re.match(SECRET_NAME, name) is None:
        yield Issue("secrets.required", f"{name!r} isn't of the form {SECRET_NAME}")
    elif value is None:
        yield Issue("secrets.required", f"the secret {name} has no value: provide one with the run")
    elif not isinstance(value, str) or not value:
        yield Issue(f"secrets.provided.{name}", "must be a text that isn't empty")
    else:
        yield from unfit(f"secrets.provided.{name}", value)
