"""Pause and resume a run, stop one of its agents, try an attempt that ended in an error once more."""

from typing import Final

from proctor.contracts.events import AgentStopRequested, Event, RetryRequested, RunPaused, RunResumed, RunSubmitted
from proctor.contracts.folds.run import RunState
from proctor.contracts.ids import Cell
from proctor.contracts.states import AttemptStatus
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.edges import Edges
from proctor.gateway.folds import run_head
from proctor.gateway.intents.append import append
from proctor.service.errors import Conflicting, Forbidden, NotFound

_AGAIN: Final = "a rerun makes a new run"
_NO_RETRY: Final = {
    AttemptStatus.PLANNED: "it wasn't tried yet",
    AttemptStatus.PASSED: f"its result counts; {_AGAIN}",
    AttemptStatus.FAILED: f"its result counts; {_AGAIN}",
    AttemptStatus.CANCELLED: f"it was cancelled; {_AGAIN}",
}


async def pause(edges: Edges, who: Principal, run: str, reason: str) -> int:
    """The sequence, here and below; 0 when it is as asked already."""
    state = await _going_on(edges, who, run)
    if state.paused is not None:
        return 0
    if state.stop is not None:
        raise Conflicting("the run is about to stop, so there is nothing to pause")
    return await _append(edges, who, run, RunPaused(reason=reason, paused_by=who.user))


async def resume(edges: Edges, who: Principal, run: str) -> int:
    state = await _going_on(edges, who, run)
    return await _append(edges, who, run, RunResumed(resumed_by=who.user)) if state.paused is not None else 0


async def stop_agent(edges: Edges, who: Principal, run: str, agent: int, reason: str) -> int:
    state = await _controlled(edges, who, run)
    count = len(submission_of(state).config.agents)
    if agent >= count:
        raise NotFound(f"the run has no agent {agent}: it has {count}, counted from 0")
    if agent in state.agent_stops:
        return 0
    _check_going_on(state)
    return await _append(edges, who, run, AgentStopRequested(agent=agent, reason=reason, requested_by=who.user))


async def retry(edges: Edges, who: Principal, run: str, attempt: str) -> int:
    """`attempt` by its key. Refused unless it ended in an error and more of the run may be dispatched."""
    await _going_on(edges, who, run)
    state = await edges.folds.latest(who.workspace, run)
    if state is None or not state.contains(attempt):
        raise no_attempt(attempt)
    now = state.attempt(attempt)
    if now.status is AttemptStatus.RETRY_WAIT:
        return 0
    if now.status is not AttemptStatus.ERRORED:
        raise Conflicting(f"{attempt} can't be tried again: {_NO_RETRY.get(now.status, 'it is under way')}")
    if (why := _dispatches_no_more(state, Cell.parse(attempt).agent)) is not None:
        raise Conflicting(f"{attempt} can't be tried again: {why}; {_AGAIN}")
    return await _append(edges, who, run, RetryRequested(attempt=attempt, epoch=now.epoch, requested_by=who.user))


def no_attempt(attempt: str) -> NotFound:
    return NotFound(f"the run has no attempt {attempt!r}, or it isn't planned yet")


def check_may_control(who: Principal, submitted_by: str) -> None:
    """Raises `Forbidden` for the run of another."""
    if submitted_by != who.user and not who.may(Role.ADMIN):
        raise Forbidden("only an admin may do this to the run of another")


def submission_of(state: RunState) -> RunSubmitted:
    assert state.submitted is not None  # noqa: S101 - only submitted runs are folded
    return state.submitted


def _dispatches_no_more(state: RunState, agent: int) -> str | None:
    if state.ended:
        return "the run has ended"
    if state.stop is not None or state.budget_reached is not None:
        return "the run is about to stop"
    return "its agent was stopped" if agent in state.agent_stops else None


async def _controlled(edges: Edges, who: Principal, run: str) -> RunState:
    """Without its attempts."""
    head = await run_head(edges.log, who.workspace, run)
    if head is None:
        raise NotFound("there is no such run in this workspace")
    check_may_control(who, submission_of(head.state).submitted_by)
    return head.state


async def _going_on(edges: Edges, who: Principal, run: str) -> RunState:
    state = await _controlled(edges, who, run)
    _check_going_on(state)
    return state


def _check_going_on(state: RunState) -> None:
    if state.ended:
        raise Conflicting(f"the run has ended already: it is {state.status}", code="RUN_ENDED")


async def _append(edges: Edges, who: Principal, run: str, event: Event) -> int:
    return await append(edges, who, event, (who.workspace, "run", run))
