"""The run's own secrets: which it needs, and the values that it brings along."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from proctor.contracts.config import SECRET_NAME
from proctor.gateway.submission.findings import duplicates
from proctor.gateway.submission.sound import Reading
from proctor.service.errors import Invalid, Issue

MAX_SECRETS: Final = 16
MAX_NAME: Final = 255
MAX_VALUE_BYTES: Final = 64 * 1024


class SecretsMissing(Invalid):
    """Nothing is wrong with a submission but that these secrets are neither stored nor with it."""

    code = "SECRETS_MISSING"

    def __init__(self, missing: Iterable[str], found: Invalid) -> None:
        super().__init__(found.message, issues=found.issues)
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True)
class Secrets:
    """`required` may name some that `provided` lacks: those have to be stored."""

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
        issues += _secret(name, values)
    issues += [
        Issue(f"secrets.provided.{name}", "isn't listed in secrets.required") for name in values if name not in names
    ]
    sound = {name: value if isinstance(value, str) else "" for name, value in values.items()}
    listed = tuple(name for name in dict.fromkeys(names) if name_fault(name) is None)[:MAX_SECRETS]
    return Reading(Secrets(listed, sound), tuple(issues))


def _unread(*issues: Issue) -> Reading[Secrets]:
    return Reading(None, issues, frozenset({("secrets",)}))


def name_fault(name: str) -> str | None:
    """Why it can't be a secret's name."""
    if len(name) > MAX_NAME:
        return f"is longer than {MAX_NAME} characters"
    return None if re.fullmatch(SECRET_NAME, name) else f"isn't of the form {SECRET_NAME}"


def value_fault(value: object) -> str | None:
    """Why it can't be a secret's value."""
    if not isinstance(value, str) or not value:
        return "must be a text that isn't empty"
    return next(_unfit(value), None)


def unfit(key: str, value: str) -> Iterator[Issue]:
    """Why the value can't be an environment variable's."""
    return (Issue(key, why) for why in _unfit(value))


def _unfit(value: str) -> Iterator[str]:
    if "\0" in value:
        yield "holds a NUL character, which no environment variable can"
    if any("\ud800" <= character <= "\udfff" for character in value):
        yield "holds half of a surrogate pair, which is no text"
    if len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        yield f"is longer than {MAX_VALUE_BYTES // 1024} KiB"


def _secret(name: str, provided: Mapping[str, object]) -> Iterator[Issue]:
    if (fault := name_fault(name)) is not None:
        yield Issue("secrets.required", f"{name!r} {fault}")
    elif name in provided and (fault := value_fault(provided[name])) is not None:
        yield Issue(f"secrets.provided.{name}", fault)
