"""`proctor run compare`: runs against the first of them."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.agents import find_agent
from proctor.cli.client import Client, Refused, segment
from proctor.cli.completion import complete_run
from proctor.cli.display.comparison import alone, comparison
from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json, part, parts
from proctor.cli.failure import Misused
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show

MOST_RUNS: Final = 8


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="Names or ids of two or more runs, the baseline first.", autocompletion=complete_run),
    ],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", help="An agent of each run, in their order: its name, or its number from 0; else the same names."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also tasks with no difference.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs task by task with the first of them; the worst regressions come first."""
    if not 2 <= len(runs) <= MOST_RUNS:
        raise Misused(f"name 2 to {MOST_RUNS} runs, the baseline first: there {_are(len(runs))}")
    if agents and len(agents) != len(runs):
        raise Misused(
            f"--agent is needed once for each of the {len(runs)} runs, in their order: there {_are(len(agents))}"
        )
    with Client(find_access(home)) as client:
        found = [client.get(f"runs/{segment(run)}") for run in runs]
        answer = _asked(client, found, agents or ())
        pairs = parts(answer, "pairs")
        same = {} if as_json else {number: _same(client, found, pair) for number, pair in enumerate(pairs)}
    if as_json:
        print_json(answer)
        return
    for number, pair in enumerate(pairs):
        if number:
            say("")
        for piece in comparison(pair, every=every, same=same[number]):
            say(piece) if isinstance(piece, str) else show(piece)
    for line in () if agents else alone(found, pairs):
        say(line)


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _asked(client: Client, runs: Sequence[Json], agents: Sequence[str]) -> Json:
    chosen = [str(find_agent(run, agent)["agent"]) for run, agent in zip(runs, agents, strict=False)]
    try:
        return client.get("compare", runs=",".join(run["id"] for run in runs), agents=",".join(chosen) or None)
    except Refused as refusal:
        if chosen or refusal.status != HTTPStatus.BAD_REQUEST:
            raise
    there = tuple(f"{run['name']}: {', '.join(map(agent_label, parts(run, 'agent_results')))}" for run in runs)
    raise Misused("no agent is in both runs: name one of each with --agent, in their order", details=there)


def _same(client: Client, runs: Sequence[Json], pair: Json) -> int:
    """How many results of one side are the other's, taken over."""
    known = {run["id"]: run for run in runs}
    sides = [part(pair, side) for side in ("baseline", "other")]
    if not any(known[side["run"]]["reused"] for side in sides):
        return 0
    first, second = (set(_origins(client, side)) for side in sides)
    return len(first & second)


def _origins(client: Client, side: Json) -> Iterator[tuple[str, str]]:
    """Where each result was measured."""
    for result in client.pages(f"runs/{segment(side['run'])}/results", agent=side["agent"]):
        if result["counts"]:
            yield result["reused_run"] or side["run"], result["reused_attempt"] or result["attempt"]
