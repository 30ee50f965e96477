"""Why attempts of a run ended as they did: how many, by agent and error kind."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json, parts

LONGEST: Final = 200


def kinds_of(results: Iterable[Json]) -> list[Json]:
    """What `kinds` of a run's document says, counted from its results; the message is that of the first."""
    messages: dict[tuple[int, str, str], str] = {}
    counts: Counter[tuple[int, str, str]] = Counter()
    for result in results:
        if result.get("kind"):
            key = (int(result["agent"]), str(result["kind"]), str(result["outcome"]))
            counts[key] += 1
            messages.setdefault(key, str(result.get("message") or ""))
    return [
        {"agent": agent, "kind": kind, "outcome": outcome, "count": count, "message": messages[agent, kind, outcome]}
        for (agent, kind, outcome), count in counts.most_common()
    ]


def kind_lines(run: Json, kinds: Iterable[Json]) -> Iterator[str]:
    """`6 attempts of nop errored: build_failed (no such image)`; the agent only where there are several."""
    agents = parts(run, "agent_results")
    labels = {int(agent["agent"]): agent_label(agent) for agent in agents}
    for one in kinds:
        count = int(one["count"])
        whose = f" of {labels.get(int(one['agent']), one['agent'])}" if len(agents) > 1 else ""
        message = _shortened(str(one.get("message") or ""))
        why = f"{one['kind']} ({message})" if message else one["kind"]
        yield f"{count} attempt{'' if count == 1 else 's'}{whose} {one['outcome']}: {why}"


def _shortened(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
