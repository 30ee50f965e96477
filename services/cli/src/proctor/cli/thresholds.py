"""What a run must reach for a build to pass: `--fail-under 0.8`, `--fail-under "my agent=80%"`."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple

import typer

from proctor.cli.agents import find_agent
from proctor.cli.display.figures import percent
from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json, part, parts

_DIGITS: Final = 9
"""A mean of quarters is what it says, whatever its last binary digit."""


class Threshold(NamedTuple):
    """Of the best agent where none is named."""

    agent: str | None
    rate: float


def read_threshold(text: str) -> Threshold:
    agent, _, number = text.rpartition("=")
    try:
        rate = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        rate = -1
    if not 0 <= rate <= 1:
        raise typer.BadParameter(f"{text!r} must be like 0.8, 80% or AGENT=0.8")
    return Threshold(agent or None, rate)


ThresholdOption = Annotated[
    list[Threshold] | None,
    typer.Option(
        "--fail-under",
        parser=read_threshold,
        metavar="[AGENT=]RATE",
        help="Exit 1 when the pass@1 of the best agent, or of this one, is under it; may be repeated.",
    ),
]


def check_names(run: Json, thresholds: Sequence[Threshold]) -> None:
    """Raises Misused for an agent that isn't in the run, as soon as its agents are known."""
    if parts(run, "agent_results"):
        for threshold in thresholds:
            if threshold.agent is not None:
                find_agent(run, threshold.agent)


def shortfalls(run: Json, thresholds: Sequence[Threshold]) -> Iterator[str]:
    """A line for each that an ended run didn't reach; what isn't known reaches nothing."""
    for threshold in thresholds:
        agent = find_agent(run, threshold.agent) if threshold.agent is not None else _best(run)
        label = agent_label(agent) if agent else "any agent"
        whose = label if threshold.agent is not None or not agent else f"the best agent, {label},"
        value = _pass_at_1(agent)
        if value is None:
            yield f"pass@1 of {whose} isn't known, so it isn't {percent(threshold.rate)}"
        elif round(value, _DIGITS) < threshold.rate:
            yield f"pass@1 of {whose} is {percent(value)}, under {percent(threshold.rate)}"


def _best(run: Json) -> Json:
    known = [agent for agent in parts(run, "agent_results") if _pass_at_1(agent) is not None]
    return max(known, key=lambda agent: _pass_at_1(agent) or 0.0) if known else {}


def _pass_at_1(agent: Json) -> float | None:
    return part(part(agent, "metrics"), "pass_at_1").get("value")
