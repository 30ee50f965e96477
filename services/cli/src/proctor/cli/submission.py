"""A run's TOML as the body of its submission. What the values mean is checked by the gateway, all at once."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final, cast

from proctor.cli.failure import Failure

type Table = dict[str, Any]

SECTIONS: Final = {
    "experiment": "experiment_config",
    "tasks": "tasks_config",
    "agents": "agents",
    "execution": "execution_config",
    "env": "env_config",
}
"""TOML section -> key of the body; `verifier` and `secrets` are mapped by their own rules."""

_KNOWN: Final = (*SECTIONS, "verifier", "secrets")
_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


def read_submission(text: str, file: str, environment: Mapping[str, str]) -> Table:
    """Raises Failure naming the file, the place and the problem. Values of `[secrets] required` come from
    `environment`."""
    document = _parse(text, file)
    _check_sections(document, file)
    body: Table = {key: document[section] for section, key in SECTIONS.items() if document.get(section)}
    body["agents"] = [{"env": {}, **agent} for agent in body["agents"]]
    if required := _names(document, "verifier", file):
        body.setdefault("execution_config", {})["verifier_secrets"] = required
    if required := _names(document, "secrets", file):
        body["secrets"] = {"required": required, "provided": _provided(required, file, environment)}
    return body


def _parse(text: str, file: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem, line = _place(text, str(error))
        shown = (text.splitlines() or [""])[line - 1]
        raise Failure(f"{file}: line {line}: {problem}", details=(f"{line}: {shown}",)) from None


def _place(text: str, message: str) -> tuple[str, int]:
    """The problem, and the line it is in: counted from 1, the last one with text where the end came too soon."""
    if place := _PLACE.search(message):
        problem, line = f"{message[: place.start()].strip()}, at column {place[2]}", int(place[1])
    else:
        problem, line = message, len(text.rstrip().splitlines())
    hint = "; a text needs quotes" if "Invalid value" in message else ""
    return problem[:1].lower() + problem[1:] + hint, max(1, line)


def _check_sections(document: Table, file: str) -> None:
    for name in document:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, 1)
            hint = f"did you mean [{near[0]}]?" if near else f"known are {', '.join(_KNOWN)}"
            raise Failure(f"{file}: {name}: there is no such section: {hint}")
    if not isinstance(document.get("experiment"), dict):
        raise Failure(f'{file}: [experiment] is missing: add it with benchmark = "KEY"')
    agents = document.get("agents")
    if (
        not isinstance(agents, list)
        or not agents
        or not all(isinstance(one, dict) for one in cast("list[Any]", agents))
    ):
        raise Failure(f'{file}: [[agents]] is missing: add one with harness = "NAME"')
    for name in set(document) - {"agents"}:
        if not isinstance(document[name], dict):
            raise Failure(f"{file}: {name}: must be a section: write [{name}]")


def _names(document: Table, section: str, file: str) -> list[str]:
    table = cast("Table", document.get(section, {}))
    if unknown := set(table) - {"required"}:
        raise Failure(f"{file}: {section}.{min(unknown)}: there is no such key: known is required")
    names = table.get("required", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise Failure(f"{file}: {section}.required: must be a list of names")
    return cast("list[str]", names)


def _provided(required: list[str], file: str, environment: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in required if name not in environment]
    if missing:
        raise Failure(f"{file}: secrets.required: set {', '.join(missing)} in the environment of this command")
    return {name: environment[name] for name in required}
