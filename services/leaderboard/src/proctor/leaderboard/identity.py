"""What results are called: in paths and in downloads."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from proctor.contracts.entrant import AgentName
from proctor.contracts.ids import Cell

_SLUG_LENGTH: Final = 80


def identities(agents: Sequence[AgentName], tasks: Sequence[str]) -> "Identities":
    """The name makers of one run, which keep equal slugs of different tasks apart."""
    stems = [
        "-".join([str(index), *map(_slug, filter(None, (agent.harness, agent.model or agent.name)))])
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
        """`<agent>-<harness>-<model slug>__<task slug>__<n>`: one path segment, unique in its run. An agent's name
        stands in for the model it lacks."""
        return f"{self.agents[cell.agent]}__{self.tasks[cell.task]}__{cell.number}"


def _slug(text: str) -> str:
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or _digest(text)
    return slug if len(slug) <= _SLUG_LENGTH else f"{slug[:_SLUG_LENGTH].rstrip('-.')}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
