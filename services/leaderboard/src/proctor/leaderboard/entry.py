"""What an agent of an ended run brings to its benchmark's board, and the rules that keep it off."""

from dataclasses import asdict, dataclass
from typing import Final

from pydantic import TypeAdapter

from proctor.contracts.folds.run import RunState
from proctor.contracts.states import RunStatus
from proctor.leaderboard.agent import AgentModel
from proctor.leaderboard.result import Result
from proctor.leaderboard.run import RunModel
from proctor.leaderboard.scores import Json, Score, entrant
from proctor.statistics import Entrant, pass_at_1

STORED_SCORES: Final = TypeAdapter(Entrant)
"""Reads the `scores` column as it was written."""

RANKED_SELECTIONS: Final = frozenset({"full", "parity"})


@dataclass(frozen=True, slots=True)
class Entry:
    """Columns of `entries` in its order. `scores` are the fields of an `Entrant`; None before there was a plan."""

    workspace: str
    benchmark: str
    run: str
    agent: int
    entrant: str
    eligible: bool
    rules: tuple[str, ...]
    row: Json
    scores: Json | None
    position: int


def entries(model: RunModel) -> tuple[Entry, ...]:
    """One for each agent of a run that has ended just now."""
    agents = model.agents
    later = [{other.name.entrant for other in agents[index + 1 :]} for index in range(len(agents))]
    return tuple(
        _entry(model, index, agent, superseded=agent.name.entrant in later[index]) for index, agent in enumerate(agents)
    )


def _entry(model: RunModel, index: int, agent: AgentModel, *, superseded: bool) -> Entry:
    state = model.state
    status = agent.status(model.expected_each, state.status)
    scores = _scores(model, index, agent)
    failed = rules(state, status, scores, superseded=superseded)
    return Entry(
        workspace=state.workspace,
        benchmark=state.submitted.benchmark if state.submitted else "",
        run=state.run,
        agent=index,
        entrant=agent.name.entrant,
        eligible=not failed,
        rules=failed,
        row=_row(model, index, agent, status),
        scores=asdict(scores) if scores else None,
        position=model.position,
    )


def rules(state: RunState, agent_status: str, scores: Entrant | None, *, superseded: bool = False) -> tuple[str, ...]:
    """The rules of a board that this agent's run fails; none is what makes it eligible."""
    plan = state.planned
    selection = plan.task_set if plan else None
    rated = scores is not None and pass_at_1(scores.successes, scores.attempts) is not None
    failed = {
        "run_not_finished": state.status is not RunStatus.FINISHED,
        "agent_not_finished": agent_status != "finished",
        "task_subset": selection is not None and selection not in RANKED_SELECTIONS,
        "missing_results": scores is None or not scores.complete,
        "no_pass_at_1": not rated,
        "superseded_in_run": superseded,
    }
    return tuple(rule for rule, holds in failed.items() if holds)


def _scores(model: RunModel, index: int, agent: AgentModel) -> Entrant | None:
    plan, submitted = model.state.planned, model.state.submitted
    if plan is None or submitted is None:
        return None
    return entrant(
        agent.name.entrant,
        finished=model.position,
        version=submitted.version,
        tasks=[task.name for task in model.tasks],
        attempts_per_task=plan.attempts_per_task,
        scores=[score(result) for result in model.results.values() if result.agent == index],
    )


def score(result: Result) -> Score:
    return Score(
        task=result.task,
        category=result.category,
        counts=result.counts and result.outcome is not None,
        passed=result.passed,
        kind=result.kind,
        cost_usd=result.cost_usd,
        agent_seconds=result.agent_seconds,
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
    )


def _row(model: RunModel, index: int, agent: AgentModel, status: str) -> Json:
    state, submitted, plan = model.state, model.state.submitted, model.state.planned
    return {
        **agent.name._asdict(),
        "run": state.run,
        "run_name": submitted.name if submitted else None,
        "agent": index,
        "run_status": state.status.value,
        "agent_status": status,
        "task_set": plan.task_set if plan else None,
        "version": submitted.version if submitted else None,
        "attempts_per_task": plan.attempts_per_task if plan else None,
        "n_tasks": plan.tasks if plan else None,
        "submitted_by": submitted.submitted_by if submitted else None,
        "submitted_at": model.submitted_at,
        "ended_at": model.ended_at,
        "position": model.position,
    }
