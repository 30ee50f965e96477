"""What a run was given beside its configuration: the values of its environment, and where its secrets are from."""

from collections.abc import Mapping
from typing import Any

from proctor.contracts.config import RunConfig
from proctor.gateway.access.principal import Principal
from proctor.gateway.edges import Edges
from proctor.gateway.literals import may_see
from proctor.gateway.vault import values
from proctor.gateway.vault.cipher import WrongKey
from proctor.gateway.vault.secrets import scopes_of

type Run = Mapping[str, Any]


async def environments(edges: Edges, who: Principal, run: Run) -> list[dict[str, str]]:
    """That of each agent, as the caller may see it."""
    config = RunConfig.model_validate(run["config"])
    if may_see(who, run["submitted_by"]):
        try:
            kept = await values.literals(edges.pool, edges.sealer, who.workspace, run["id"])
            return [{**kept.env, **own} for own in kept.agents]
        except (LookupError, WrongKey):
            pass
    return [config.values(index) for index in range(len(config.agents))]


async def secret_scopes(edges: Edges, workspace: str, run: Run) -> dict[str, str]:
    """By name, as they are now. What the run needs and nobody has stored came with it."""
    config = RunConfig.model_validate(run["config"])
    agents = [name for index in range(len(config.agents)) for name in config.agent_secrets(index)]
    names = dict.fromkeys((*config.verifier_secrets(), *agents))
    stored = await scopes_of(edges.pool, workspace, run["submitted_by"], names) if names else {}
    return {**dict.fromkeys((name for name in config.secrets.required if name not in stored), "run"), **stored}
