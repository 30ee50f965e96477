"""Who competes on a board: what an agent is called wherever it is listed."""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from proctor.contracts.config import Agent, EndpointModel, model_label

UNNAMED_HARNESS: Final = "default"


class AgentName(NamedTuple):
    """`entrant` is what a board has one row for. `endpoint` is the host and path of an endpoint's address."""

    name: str | None
    harness: str
    model: str | None
    endpoint: str | None
    entrant: str


def agent_name(agent: Agent) -> AgentName:
    """The entrant is `<harness>[ / <model>][ @ <endpoint>][ (<name>)]`."""
    harness = agent.harness or UNNAMED_HARNESS
    model, endpoint = model_label(agent.model), _endpoint(agent)
    parts = ((" / {}", model), (" @ {}", endpoint), (" ({})", agent.name))
    entrant = harness + "".join(form.format(part) for form, part in parts if part)
    return AgentName(agent.name, harness, model, endpoint, entrant)


def _endpoint(agent: Agent) -> str | None:
    if not isinstance(agent.model, EndpointModel):
        return None
    address = urlsplit(agent.model.base_url)
    return (address.netloc + address.path).rstrip("/") or agent.model.base_url
