"""`${VAR}` and `${VAR:-default}` in a task's environment tables and MCP headers.

An environment value is a template only as a whole; a header may embed several. Nothing here reads
a process environment: the caller says what the variables are.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_WHOLE: Final = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}")
_EMBEDDED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_NAME: Final = re.compile(r"KEY|SECRET|TOKEN(?!S)|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_REFERENCE: Final = r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-)?\}"
_CREDENTIAL: Final = re.compile(rf"\s*(?:[A-Za-z]+\s+)?{_REFERENCE}(?:[\s:-]*{_REFERENCE})*\s*")
_COOKIES: Final = frozenset({"cookie", "set-cookie"})


class VariableMissing(ValueError):
    """A task needs a variable that has neither a value nor a default."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the task needs the variable {name}: set it in the run's env or as a secret")
        self.name = name


class Reference(NamedTuple):
    """One `${name}` or `${name:-default}`."""

    name: str
    default: str | None


def env_references(env: Mapping[str, str]) -> Iterator[Reference]:
    """The variables the values of an environment table refer to."""
    for value in env.values():
        if match := _WHOLE.fullmatch(value):
            yield Reference(match[1], match[2])


def header_references(headers: Mapping[str, str]) -> Iterator[Reference]:
    """The variables embedded in the values of HTTP headers."""
    for value in headers.values():
        yield from _embedded(value)


def resolve_env(env: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """The table with each template replaced by its variable, else its default; raises VariableMissing."""
    return {key: _whole(value, variables) for key, value in env.items()}


def resolve_header(value: str, variables: Mapping[str, str]) -> str:
    """A header's value with every embedded template replaced; raises VariableMissing."""

    def substitute(match: re.Match[str]) -> str:
        return _choose(Reference(match[1], match[2]), variables)

    return _EMBEDDED.sub(substitute, value)


def header_problem(name: str, value: str) -> str | None:
    """Why an MCP header can't be used, or None. Credentials must be references, never literals."""
    if "\r" in value or "\n" in value:
        return "must not contain newlines"
    if "${" in _EMBEDDED.sub(" ", value) or any("${" in (default or "") for _, default in _embedded(value)):
        return "has a malformed ${VAR} template; write ${NAME} or ${NAME:-default}"
    secret = is_secret_name(name) or name.lower() in _COOKIES
    literal_default = any(default and (secret or is_secret_name(variable)) for variable, default in _embedded(value))
    if literal_default or (secret and value.strip() and not _CREDENTIAL.fullmatch(value)):
        return "must name its credential as ${VAR} without a default, such as 'Bearer ${TOKEN}'"
    return None


def is_secret_name(name: str) -> bool:
    """Whether a variable or header of this name is taken to hold a credential."""
    return bool(_SECRET_NAME.search(name))


def _embedded(value: str) -> Iterator[Reference]:
    return (Reference(match[1], match[2]) for match in _EMBEDDED.finditer(value))


def _whole(value: str, variables: Mapping[str, str]) -> str:
    match = _WHOLE.fullmatch(value)
    return _choose(Reference(match[1], match[2]), variables) if match else value


def _choose(reference: Reference, variables: Mapping[str, str]) -> str:
    value = variables.get(reference.name, reference.default)
    if value is None:
        raise VariableMissing(reference.name)
    return value
