"""Reads the body of a submit (the sections of the TOML under their wire names), or says all that is wrong in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import ValidationError

from proctor.contracts.config import SECRET_NAME, RunConfig
from proctor.gateway.submission.findings import closest, duplicates, invalid, issue_of
from proctor.service.errors import Issue

MAX_SECRETS: Final = 16
MAX_VALUE_BYTES: Final = 64 * 1024
RESERVED_PREFIX: Final = "_OSMOSIS_"

_BODY_KEYS: Final = ("experiment_config", "agents", "tasks_config", "execution_config", "env_config", "secrets")


@dataclass(frozen=True, slots=True)
class Submission:
    """A body that reads as a run. `provided` are the run's own secrets, by name."""

    config: RunConfig
    required: tuple[str, ...]
    provided: Mapping[str, str]


def parse(body: Mapping[str, Any]) -> Submission:
    """The body of section 7.5 of the wire contract. Raises `Invalid` with an issue for each problem in it."""
    issues = [Issue(key, "isn't a part of a submit", closest(key, _BODY_KEYS)) for key in body if key not in _BODY_KEYS]
    secrets, secret_issues = _secrets(body.get("secrets"))
    config: RunConfig | None = None
    try:
        config = RunConfig.model_validate(_as_toml(body))
    except ValidationError as error:
        issues += [issue_of(detail) for detail in error.errors(include_url=False)]
    issues += secret_issues
    if config is not None:
        issues += _environment(config, secrets.required)
    if config is None or issues:
        raise invalid(issues)
    return Submission(config, secrets.required, secrets.provided)


@dataclass(frozen=True, slots=True)
class _Secrets:
    required: tuple[str, ...] = ()
    provided: Mapping[str, str] = field(default_factory=dict[str, str])


def _secrets(section: object) -> tuple[_Secrets, list[Issue]]:
    """`{required: [...], provided: {NAME: value}}`. No message repeats a value."""
    if section is None:
        return _Secrets(), []
    if not isinstance(section, dict):
        return _Secrets(), [Issue("secrets", "must be a table")]
    table = cast("dict[str, Any]", section)
    required, provided = table.get("required", []), table.get("provided", {})
    issues = [Issue(f"secrets.{key}", "isn't a key of this section") for key in table.keys() - {"required", "provided"}]
    if not isinstance(required, list) or not isinstance(provided, dict):
        return _Secrets(), [*issues, Issue("secrets", "`required` must be a list and `provided` a table")]
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
    return _Secrets(tuple(names), {name: value for name, value in values.items() if isinstance(value, str)}), issues


def _secret(name: str, value: object) -> Iterator[Issue]:
    if re.match(SECRET_NAME, name) is None:
        yield Issue("secrets.required", f"{name!r} isn't of the form {SECRET_NAME}")
    elif value is None:
        yield Issue("secrets.required", f"the secret {name} has no value: provide one with the run")
    elif not isinstance(value, str) or not value:
        yield Issue(f"secrets.provided.{name}", "must be a text that isn't empty")
    else:
        yield from _value(f"secrets.provided.{name}", value)


def _environment(config: RunConfig, secrets: Sequence[str]) -> Iterator[Issue]:
    tables = [("env", config.env)] + [(f"agents[{index}].env", a.env) for index, a in enumerate(config.agents)]
    taken = {*secrets, *config.verifier.required, config.execution.judge_api_key_secret}
    for prefix, table in tables:
        for name, value in table.items():
            key = f"{prefix}.{name}"
            if name.startswith(RESERVED_PREFIX):
                yield Issue(key, f"names that start with {RESERVED_PREFIX} are reserved")
            if name in taken:
                yield Issue(key, "is a secret of this run as well; set it in one place")
            yield from _value(key, value)
    for index, agent in enumerate(config.agents):
        secret = getattr(agent.model, "api_key_secret", None)
        if secret in config.values(index):
            yield Issue(f"agents[{index}].env.{secret}", "is the name of the model's secret; it can't be set as well")


def _value(key: str, value: str) -> Iterator[Issue]:
    if "\0" in value:
        yield Issue(key, "holds a NUL character, which no environment variable can")
    if len(value.encode(errors="replace")) > MAX_VALUE_BYTES:
        yield Issue(key, f"is longer than {MAX_VALUE_BYTES // 1024} KiB")


def _as_toml(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body under the names of the TOML's sections, so that every finding is at the key the user wrote."""
    execution: object = body.get("execution_config")
    verifier: dict[str, Any] = {}
    if isinstance(execution, dict) and "verifier_secrets" in execution:
        table = cast("dict[str, Any]", execution)
        verifier = {"required": table["verifier_secrets"]}
        execution = {key: value for key, value in table.items() if key != "verifier_secrets"}
    named: dict[str, object] = {
        "experiment": body.get("experiment_config"),
        "tasks": body.get("tasks_config"),
        "agents": body.get("agents"),
        "execution": execution,
        "verifier": verifier or None,
        "env": body.get("env_config"),
    }
    return {key: value for key, value in named.items() if value is not None}
