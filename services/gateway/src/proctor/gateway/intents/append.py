"""Appends an intent in its author's name, with a request's patience."""

from proctor.contracts.events import Event
from proctor.gateway.access.principal import Principal
from proctor.gateway.edges import PATIENCE_SECONDS, Edges


async def append(
    edges: Edges, who: Principal, event: Event, place: tuple[str, str, str], *, alone: bool = False
) -> int:
    """The event's sequence. `place`: workspace, aggregate, id. Raises `Conflict` or `Unavailable`."""
    workspace, aggregate, identifier = place
    return await edges.log.append(
        event,
        workspace=workspace,
        aggregate=aggregate,
        id=identifier,
        alone=alone,
        actor=who.user,
        patience=PATIENCE_SECONDS,
    )
