"""Why attempts of a run ended as they did: how many, by agent and error kind."""

from collections.abc import Iterator
from typing import Final

from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json, parts

LONGEST: Final = 200


def kind_lines(run: Json) -> Iterator[str]:
    """`6 attempts of nop errored: build_failed (no such image)`; the agent only where there are several."""
    agents = parts(run, "agent_results")
    labels = {int(agent["agent"]): agent_label(agent) for agent in agents}
    for one in parts(run, "kinds"):
        count = int(one["count"])
        whose = f" of {labels.get(int(one['agent']), one['agent'])}" if len(agents) > 1 else ""
        message = _shortened(str(one.get("message") or ""))
        why = f"{one['kind']} ({message})" if message else one["kind"]
        yield f"{count} attempt{'' if count == 1 else 's'}{whose} {one.get('outcome') or 'so far'}: {why}"


def _shortened(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
