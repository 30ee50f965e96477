"""An agent of a run by what a person types: its name, its harness, or its number."""

import difflib

from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json, parts
from proctor.cli.failure import Misused


def find_agent(run: Json, text: str) -> Json:
    """Raises Misused with the agents that there are. A name goes before a harness that several have."""
    agents = parts(run, "agent_results")
    named = [agent for agent in agents if text in {agent_label(agent), agent.get("name")}]
    found = named or [agent for agent in agents if text in {str(agent["agent"]), agent.get("harness")}]
    if len(found) == 1:
        return found[0]
    labels = [agent_label(agent) for agent in agents]
    known = ", ".join(f"{number} {label}" for number, label in enumerate(labels))
    if found:
        raise Misused(f"{run['name']}: several agents are meant by {text}; write a number: {known}")
    names = [*labels, *(str(agent["name"]) for agent in agents if agent.get("name"))]
    near = difflib.get_close_matches(text, names, 1)
    raise Misused(f"{run['name']}: there is no agent {text}: " + (f"did you mean {near[0]}?" if near else known))
