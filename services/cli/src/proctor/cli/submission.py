"""A run's TOML as the body of its submission. What the values mean is checked by the gateway, all at once."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from proctor.cli.display.figures import dollars
from proctor.cli.documents import part
from proctor.cli.failure import Misused
from proctor.cli.toml_text import parse_toml
from proctor.contracts.config import HARNESSES

type Table = dict[str, Any]

SECTIONS: Final = {
    "experiment": "experiment_config",
    "tasks": "tasks_config",
    "agents": "agents",
    "execution": "execution_config",
    "env": "env_config",
    "budget": "budget_config",
}
"""TOML section -> key of the body; `verifier` and `secrets` are mapped by their own rules."""

_KNOWN: Final = (*SECTIONS, "verifier", "secrets")


def read_submission(text: str, file: str, environment: Mapping[str, str]) -> Table:
    """Raises Misused naming the file, the place and the problem. Values of `[secrets] required` come from
    `environment`; the others have to be stored."""
    document = parse_toml(text, file)
    _check_sections(document, file)
    body: Table = {key: document[section] for section, key in SECTIONS.items() if document.get(section)}
    body["agents"] = [{"env": {}, **agent} for agent in body["agents"]]
    if required := _names(document, "verifier", file):
        body.setdefault("execution_config", {})["verifier_secrets"] = required
    if required := _names(document, "secrets", file):
        provided = {name: environment[name] for name in required if name in environment}
        body["secrets"] = {"required": required, "provided": provided}
    return body


def idle_budget(body: Table, run: Table) -> Iterator[str]:
    """A warning where nothing of the run costs anything that its budget in dollars could count."""
    usd = body.get("budget_config", {}).get("usd")
    harnesses = [HARNESSES.get(str(agent.get("harness"))) for agent in body["agents"]]
    free = all(harness and harness.native and not harness.needs_model for harness in harnesses)
    if usd is not None and free and not any(part(run, "rates").values()):
        yield (
            f"the budget of {dollars(usd)} can't be reached: no sandbox price is set (PROCTOR_PRICE_...) "
            "and these agents call no model"
        )


def _check_sections(document: Table, file: str) -> None:
    for name in document:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, 1)
            hint = f"did you mean [{near[0]}]?" if near else f"known are {', '.join(_KNOWN)}"
            raise Misused(f"{file}: {name}: there is no such section: {hint}")
    if not isinstance(document.get("experiment"), dict):
        raise Misused(f'{file}: [experiment] is missing: add it with benchmark = "KEY"')
    agents = document.get("agents")
    if (
        not isinstance(agents, list)
        or not agents
        or not all(isinstance(one, dict) for one in cast("list[Any]", agents))
    ):
        raise Misused(f'{file}: [[agents]] is missing: add one with harness = "NAME"')
    for name in set(document) - {"agents"}:
        if not isinstance(document[name], dict):
            raise Misused(f"{file}: {name}: must be a section: write [{name}]")


def _names(document: Table, section: str, file: str) -> list[str]:
    table = cast("Table", document.get(section, {}))
    if unknown := set(table) - {"required"}:
        raise Misused(f"{file}: {section}.{min(unknown)}: there is no such key: known is required")
    names = table.get("required", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise Misused(f"{file}: {section}.required: must be a list of names")
    return cast("list[str]", names)
