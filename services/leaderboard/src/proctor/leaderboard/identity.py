"""What agents, entrants and results are called: on the board, in paths and in downloads."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from proctor.contracts.config import Agent, EndpointModel, model_label
from proctor.contracts.ids import Cell

UNNAMED_HARNESS: Final = "default"
_SLUG_LENGTH: Final = 80


class AgentName(NamedTuple):
    """`entrant` is what a board has one row for. `endpoint` is the host and path of an endpoint's address."""

    harness: str
    model: str | None
    endpoint: str | None
    entrant: str


def agent_name(agent: Agent) -> AgentName:
    harness = agent.harness or UNNAMED_HARNESS
    model, endpoint = model_label(agent.model), _endpoint(agent)
    entrant = harness + (f" / {model}" if model else "") + (f" @ {endpoint}" if endpoint else "")
    return AgentName(harness, model, endpoint, entrant)


def _endpoint(agent: Agent) -> str | None:
    if not isinstance(agent.model, EndpointModel):
        return None
    address = urlsplit(agent.model.base_url)
    return (address.netloc + address.path).rstrip("/") or agent.model.base_url


def identities(agents: Sequence[AgentName], tasks: Sequence[str]) -> "Identities":
    """The name makers of one run, which keep equal slugs of different tasks apart."""
    stems = [
        "-".join([str(index), _slug(agent.harness), *([_slug(agent.model)] if agent.model else [])])
        for index, agent in enumerate(agents)
    ]
    slugs = [_slug(task) for task in tasks]
    uses = Counter(slug.casefold() for slug in slugs)
    distinct = [
        slug if uses[slug.casefold()] == 1 else f"{slug}-{_digest(task)}"
        for slug, task in zip(slugs, tasks, strict=True)
    ]
    return Identities(tuple(stems), tuple(distinct))


class Identities(NamedTuple):
    agents: tuple[str, ...]
    tasks: tuple[str, ...]

    def of(self, cell: Cell) -> str:
        """`<agent>-<harness>-<model slug>__<task slug>__<n>`: one path segment, unique in its run."""
        return f"{self.agents[cell.agent]}__{self.tasks[cell.task]}__{cell.number}"


def _slug(text: str) -> str:
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or _digest(text)
    return slug if len(slug) <= _SLUG_LENGTH else f"{slug[:_SLUG_LENGTH].rstrip('-.')}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
