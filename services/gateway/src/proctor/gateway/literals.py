"""A run's configuration with the values that no event holds."""

from typing import Any

from proctor.contracts.config import EndpointModel, Model, RunConfig
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.edges import Edges
from proctor.gateway.vault import values
from proctor.gateway.vault.cipher import WrongKey
from proctor.gateway.vault.values import Literals
from proctor.service.errors import Conflicting


def may_see(who: Principal, submitted_by: str) -> bool:
    """Values of a run are for who submitted it and for admins; others see names, with empty values."""
    return who.user == submitted_by or who.may(Role.ADMIN)


async def with_values(edges: Edges, workspace: str, run: str, config: RunConfig) -> RunConfig:
    """Raises `Conflicting` when they can't be had any more."""
    if not has_literals(config):
        return config
    try:
        return filled(config, await values.literals(edges.pool, edges.sealer, workspace, run))
    except LookupError:
        raise Conflicting("the values of this run's environment are no longer kept; submit it anew") from None
    except WrongKey:
        raise Conflicting(
            "the values of this run's environment were sealed with a vault key that isn't here; give it by "
            "PROCTOR_VAULT_OLD_KEYS"
        ) from None


def filled(config: RunConfig, literals: Literals) -> RunConfig:
    """The opposite of `without_values`."""
    agents = [
        agent.model_copy(update={"env": env, "model": _with_headers(agent.model, headers)})
        for agent, env, headers in zip(config.agents, literals.agents, literals.headers, strict=True)
    ]
    return config.model_copy(update={"agents": agents, "env": literals.env})


def has_literals(config: RunConfig) -> bool:
    tables: list[Any] = [config.env]
    for agent in config.agents:
        tables += [agent.env, getattr(agent.model, "extra_headers", {})]
    return any(tables)


def _with_headers(model: Model | None, headers: dict[str, str]) -> Model | None:
    return model.model_copy(update={"extra_headers": headers}) if isinstance(model, EndpointModel) else model
