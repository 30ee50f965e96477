"""What an attempt may have of the vault: names from the run's configuration and its task, and no others."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from proctor.contracts.config import RunConfig
from proctor.contracts.messages import VaultAnswer
from proctor.gateway.vault.lookup import Value


class Wanted(NamedTuple):
    """`set`: secrets of the environment, each of which must be there. `readable`: what `${VAR}` in the task may name
    beside them, where it is there. `named`: those of both that the run names, so that its submitter's own may be
    taken; a task alone reads no one's personal secrets."""

    set: tuple[str, ...]
    readable: tuple[str, ...]
    named: frozenset[str]


def wanted(config: RunConfig, agent: int, needed: Collection[str], *, grades: bool) -> Wanted:
    """`needed` are the task's variables. A verifier's secrets are for a grader, an agent's keys are for its runner."""
    literals, verifier = config.values(agent), config.verifier_secrets()
    required = tuple(config.secrets.required)
    if grades:
        return Wanted(verifier, _others((*required, *needed), verifier, literals), frozenset((*required, *verifier)))
    own = config.agent_secrets(agent)
    hidden = {*verifier, *own}
    return Wanted(own, _others(tuple(needed), hidden, literals), frozenset(own))


def answer(asked: Wanted, literals: Mapping[str, str], secrets: Mapping[str, Value], *, grades: bool) -> VaultAnswer:
    """`literals` are set in the environment of an agent, and only read by a verifier's task."""
    missing = [name for name in asked.set if name not in secrets]
    if missing:
        return VaultAnswer(error=f"secret missing: {', '.join(missing)}; set it with `proctor secret set {missing[0]}`")
    own = {name: secrets[name].text for name in asked.set}
    readable = {name: secrets[name].text for name in asked.readable if name in secrets}
    return VaultAnswer(
        values=own if grades else {**literals, **own},
        variables={**literals, **readable} if grades else readable,
        versions={name: secret.version for name, secret in secrets.items()},
    )


def _others(names: Collection[str], *without: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if not any(name in some for some in without))
