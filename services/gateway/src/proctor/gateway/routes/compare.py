"""Agents of different runs against one another."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Final

from litestar import get
from litestar.params import QueryParameter

from proctor.gateway.answers.comparison import Comparisons
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.readmodel import comparison, runs
from proctor.gateway.readmodel.comparison import Side
from proctor.gateway.routes.operations import described
from proctor.objects import ObjectMissing
from proctor.service.errors import Invalid, Issue, NotFound

MAX_RUNS: Final = 8

type Pair = tuple[tuple[int, int], tuple[int, int]]
"""(place of the run, agent) of the baseline and of the other."""

Runs = Annotated[str, QueryParameter(name="runs", max_length=1024)]
Agents = Annotated[str | None, QueryParameter(name="agents", pattern=r"^\d{1,4}(,\d{1,4})*$")]


@get("/compare", operation_class=described(Comparisons, 404))
async def compare_runs(request: ApiRequest, edges: Opened, runs: Runs, agents: Agents = None) -> dict[str, Any]:
    """Each of the runs after the first against the first: by `agents`, one for each run, else the same entrants."""
    workspace = request.user.workspace
    found = [await _run(edges, workspace, name) for name in _names(runs)]
    of_runs = [await _agents(edges, workspace, run["run"]) for run in found]
    indices = [int(agent) for agent in agents.split(",")] if agents is not None else None
    pairs = paired([[agent["entrant"] for agent in listed] for listed in of_runs], indices)
    sides = {
        place: await _side(edges, found[place[0]], of_runs[place[0]][place[1]])
        for place in dict.fromkeys(place for pair in pairs for place in pair)
    }
    answers: list[dict[str, Any]] = []
    for first, second in pairs:
        changed = await _changed(edges, found[first[0]], found[second[0]])
        answers.append(await asyncio.to_thread(_compared, sides[first], sides[second], changed))
    return {"pairs": answers}


def paired(entrants: Sequence[Sequence[str]], agents: Sequence[int] | None) -> list[Pair]:
    """Raises `Invalid`."""
    if agents is not None:
        return _named(entrants, agents)
    first, *others = entrants
    pairs: list[Pair] = []
    for place, other in enumerate(others, 1):
        if len(first) == len(other) == 1:
            pairs.append(((0, 0), (place, 0)))
        pairs += [
            ((0, agent), (place, other.index(entrant)))
            for agent, entrant in enumerate(first)
            if entrant in other and len(first) + len(other) > 2
        ]
    if not pairs:
        raise _invalid("agents", "no entrant is in both runs: say which agent of each by their indices, like 0,1")
    return pairs


def _named(entrants: Sequence[Sequence[str]], agents: Sequence[int]) -> list[Pair]:
    if len(agents) != len(entrants):
        raise _invalid("agents", f"must have {len(entrants)}, an index for each of the runs")
    for place, (agent, listed) in enumerate(zip(agents, entrants, strict=True)):
        if agent >= len(listed):
            raise _invalid("agents", f"run {place + 1} has no agent {agent}: it has {len(listed)}, counted from 0")
    return [((0, agents[0]), (place, agent)) for place, agent in enumerate(agents[1:], 1)]


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not 2 <= len(names) <= MAX_RUNS:
        raise _invalid("runs", f"must be 2 to {MAX_RUNS} names or ids with commas between them")
    return names


async def _run(edges: Edges, workspace: str, wanted: str) -> runs.Row:
    row = await runs.find(edges.pool, workspace, wanted)
    if row is None:
        raise NotFound(f"there is no run {wanted!r} in this workspace")
    return row


async def _agents(edges: Edges, workspace: str, run: str) -> list[runs.Row]:
    return await runs.agents(edges.pool, workspace, run)


async def _side(edges: Edges, run: runs.Row, agent: runs.Row) -> Side:
    about = {
        "run": run["run"],
        "run_name": run["name"],
        "run_status": run["status"],
        "version": run["version"],
        **{key: agent[key] for key in ("agent", "entrant", "name", "harness", "model", "endpoint")},
        "attempts_per_task": run["attempts_per_task"],
    }
    tasks = await comparison.tasks(edges.pool, run["workspace"], run["run"], agent["agent"])
    return Side(about, run["attempts_per_task"], tasks)


async def _changed(edges: Edges, first: runs.Row, second: runs.Row) -> set[str]:
    """Tasks of one name that differ between the runs' versions."""
    if first["manifest"] == second["manifest"]:
        return set()
    try:
        manifests = [await edges.manifests.get(row["manifest"]) for row in (first, second)]
    except ObjectMissing:
        raise NotFound("the task list of a version that one of the runs took is no longer stored") from None
    before, after = ({task.name: task.digest for task in manifest.tasks} for manifest in manifests)
    return {name for name in before.keys() & after.keys() if before[name] != after[name]}


def _compared(baseline: Side, other: Side, changed: set[str]) -> dict[str, Any]:
    from proctor.gateway.comparison import compared  # noqa: PLC0415 - scipy takes half a second, and few ask for this

    return compared(baseline, other, changed)


def _invalid(key: str, message: str) -> Invalid:
    return Invalid(f"{key}: {message}", issues=(Issue(key, message),))
