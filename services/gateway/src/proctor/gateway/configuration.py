"""A run's configuration as it was written: the sections of its TOML, and the body of a submit."""

from collections.abc import Iterable
from typing import Any, Final, cast

import tomli_w

from proctor.contracts.config import HARNESSES, RunConfig

type Table = dict[str, Any]

_BODY: Final = {
    "experiment": "experiment_config",
    "tasks": "tasks_config",
    "agents": "agents",
    "execution": "execution_config",
    "env": "env_config",
    "secrets": "secrets",
}

_NO_MODEL: Final = """\
# the osmosis CLI wants a model; this harness calls none and ignores it
[agents.model]
type = "hosted"
base_model = "none"
lora_model_name = "none"
"""


def sections(config: RunConfig) -> Table:
    """In the order of the TOML. What isn't set is left out."""
    return cast("Table", _set(config.model_dump(mode="json")))


def body(config: RunConfig) -> Table:
    """The submit that has this configuration, without the values of its secrets."""
    found = sections(config)
    submit: Table = {name: found[section] for section, name in _BODY.items() if section in found}
    if "verifier" in found:
        submit["execution_config"] = {**found["execution"], "verifier_secrets": found["verifier"]["required"]}
    return submit


def toml(config: RunConfig, comments: Iterable[str] = ()) -> str:
    """For `proctor run submit` and `osmosis benchmark submit`. The comments come first, a line each."""
    found = sections(config)
    parts = ["".join(f"# {_one_line(comment)}\n" for comment in comments)]
    for name, section in found.items():
        parts += map(_agent, section) if name == "agents" else [tomli_w.dumps({name: section})]
    return "\n".join(part for part in parts if part)


def _agent(agent: Table) -> str:
    tables = {key: agent[key] for key in ("model", "env") if key in agent}
    text = "[[agents]]\n" + tomli_w.dumps({key: value for key, value in agent.items() if key not in tables})
    harness = HARNESSES.get(agent.get("harness", ""))
    if harness is not None and harness.native:
        text += "\n" + _NO_MODEL
    return text + ("\n" + tomli_w.dumps({"agents": tables}) if tables else "")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _set(value: object) -> object:
    if isinstance(value, list):
        return [_set(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = {key: _set(item) for key, item in cast("Table", value).items()}
        return {key: item for key, item in items.items() if item is not None and item not in ({}, [])}
    return value
