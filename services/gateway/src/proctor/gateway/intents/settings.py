"""Whether two agents got the same values, told without the values."""

import json

from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.values import Literals


def settings_of(sealer: Sealer, literals: Literals) -> tuple[str, ...]:
    """A keyed fingerprint for each agent, of its environment and its model's headers."""
    return tuple(
        sealer.fingerprint(json.dumps([literals.of_agent(agent), headers], sort_keys=True).encode()).hex()
        for agent, headers in enumerate(literals.headers)
    )
