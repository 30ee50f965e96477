"""What an agent's environment may hold: each name once, be it a literal or a secret, and none that a harness keeps for
itself. And what its model's headers may."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from proctor.contracts.config import Agent, EndpointModel, HostedModel, RunConfig
from proctor.gateway.submission.findings import duplicates
from proctor.gateway.submission.secrets import unfit
from proctor.service.errors import Issue

RESERVED_PREFIX: Final = "_OSMOSIS_"
RESERVED_KEYS: Final = frozenset({"DAYTONA_API_KEY", "DAYTONA_API_URL"})
"""Names that a model's key can't have: a benchmark's runner takes them out of the environment."""
HARNESS_KEYS: Final = {"cursor-cli": "CURSOR_API_KEY"}
"""Harnesses with a key of their own, and the one name it has."""
MODEL_KEYS: Final = {"mini-swe-agent": "MSWEA_API_KEY"}
"""Harnesses that get the key of a model that isn't hosted here under another name."""

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_UNPRINTABLE: Final = re.compile(r"[^\t -~]")


def environment(config: RunConfig, secrets: Sequence[str]) -> Iterator[Issue]:
    """`secrets` are those that the run requires."""
    tables = [("env", config.env)] + [(f"agents[{index}].env", a.env) for index, a in enumerate(config.agents)]
    taken = {*secrets, *config.verifier_secrets()}
    for prefix, table in tables:
        for name, value in table.items():
            key = f"{prefix}.{name}"
            if name.startswith(RESERVED_PREFIX):
                yield Issue(key, f"names that start with {RESERVED_PREFIX} are reserved")
            if name in taken:
                yield Issue(key, "is a secret of this run as well; set it in one place")
            yield from unfit(key, value)
    yield from duplicates("verifier.required", config.verifier.required)
    for index, agent in enumerate(config.agents):
        yield from _keys(index, agent)
        yield from _headers(index, agent)
        for name, why in _set_for(agent):
            if name in config.values(index):
                table = f"agents[{index}].env" if name in agent.env else "env"
                yield Issue(f"{table}.{name}", f"is {why}; it can't be set as well")


def _keys(index: int, agent: Agent) -> Iterator[Issue]:
    if getattr(agent.model, "api_key_secret", None) in RESERVED_KEYS:
        key = f"agents[{index}].model.api_key_secret"
        yield Issue(key, "has a reserved name; store the model's key under another")
    expected, named = HARNESS_KEYS.get(agent.harness or ""), agent.harness_api_key_secret
    if named != expected:
        key = f"agents[{index}].harness_api_key_secret"
        whose = f"the harness {agent.harness}" if agent.harness else "the benchmark's own harness"
        yield Issue(key, f"must be {expected} for {whose}" if expected else f"{whose} takes no key; leave it out")


def _headers(index: int, agent: Agent) -> Iterator[Issue]:
    headers = agent.model.extra_headers if isinstance(agent.model, EndpointModel) else {}
    for name, value in headers.items():
        key = f"agents[{index}].model.extra_headers.{name}"
        if name.lower() == "authorization":
            yield Issue(key, "holds the model's key, which is a secret: name it in api_key_secret")
        elif _HEADER.fullmatch(name) is None:
            yield Issue(key, "isn't the name of a header")
        if _UNPRINTABLE.search(value):
            yield Issue(key, "must be one line of printable ASCII")
        yield from unfit(key, value)


def _set_for(agent: Agent) -> Iterator[tuple[str, str]]:
    """Names that the platform sets for the agent, and as what."""
    if (key := getattr(agent.model, "api_key_secret", None)) is not None:
        yield key, "the name of the model's secret"
    if (key := HARNESS_KEYS.get(agent.harness or "")) is not None:
        yield key, f"the key of the harness {agent.harness}"
    if (key := MODEL_KEYS.get(agent.harness or "")) is not None and not isinstance(agent.model, HostedModel):
        yield key, f"what the harness {agent.harness} gets the model's key as"
