"""One attempt's state, by the table `ATTEMPT_TABLE` and the effects below."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from proctor.contracts.events.attempt import AttemptEvent, AttemptGraded, AttemptSettled
from proctor.contracts.outcomes import policy
from proctor.contracts.states import ATTEMPT_TABLE, ENDED_BY, AttemptStatus

Rewards = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AttemptState:
    """`tries` counts the retries used up, `redispatches` the leases lost, `regrades` the graders lost in this epoch.
    `counts`: the outcome enters scores."""

    status: AttemptStatus = AttemptStatus.PLANNED
    epoch: int = 0
    tries: int = 0
    redispatches: int = 0
    since: int = 0
    delay: float = 0.0
    worker: str | None = None
    incarnation: str | None = None
    sandbox: str | None = None
    step: int = 0
    step_rewards: tuple[Rewards, ...] = ()
    round: int = 0
    regrades: int = 0
    grader: str | None = None
    grader_incarnation: str | None = None
    agent_kind: str | None = None
    kind: str | None = None
    message: str | None = None
    score: str | None = None
    counts: bool = False


NEW: Final = AttemptState()

Effect = Callable[[AttemptState, Any], dict[str, Any]]

_EFFECTS: Final[dict[str, Effect]] = {
    "attempt.dispatched": lambda state, event: {
        "epoch": event.epoch,
        "worker": None,
        "incarnation": None,
        "sandbox": None,
        "step": 0,
        "step_rewards": (),
        "round": 0,
        "regrades": 0,
        "grader": None,
        "agent_kind": None,
        "kind": None,
        "message": None,
    },
    "attempt.claimed": lambda state, event: {"worker": event.worker, "incarnation": event.incarnation},
    "attempt.sandbox_ready": lambda state, event: {"sandbox": event.sandbox},
    "attempt.agent_finished": lambda state, event: {"agent_kind": event.kind},
    "attempt.errored": lambda state, event: {"kind": event.kind, "message": event.message},
    "attempt.retry_scheduled": lambda state, event: {"tries": event.tries, "delay": event.delay},
    "attempt.retry_requested": lambda state, event: {
        "worker": None,
        "incarnation": None,
        "grader": None,
        "redispatches": 0,
        "delay": 0.0,
        "kind": None,
        "message": None,
    },
    "attempt.lease_lost": lambda state, event: {
        "worker": None,
        "incarnation": None,
        "grader": None,
        "redispatches": state.redispatches + (event.reason != "drained"),
    },
    "grade.dispatched": lambda state, event: {"round": event.round, "grader": None},
    "grade.claimed": lambda state, event: {"grader": event.worker, "grader_incarnation": event.incarnation},
    "grade.lost": lambda state, event: {
        "grader": None,
        "regrades": state.regrades + (event.reason != "drained"),
    },
    "attempt.step_graded": lambda state, event: {"step_rewards": (*state.step_rewards, event.rewards)},
    "attempt.step_dispatched": lambda state, event: {"step": event.step},
    "attempt.grading_failed": lambda state, event: {"kind": event.kind, "message": event.message},
    "attempt.graded": lambda state, event: {
        "score": event.score,
        "kind": state.agent_kind,
        "counts": state.agent_kind is None or policy(state.agent_kind).counts,
    },
    "attempt.settled": lambda state, event: {
        "kind": event.kind,
        "message": event.message,
        "counts": event.counts,
        "score": "0" if event.counts else None,
    },
}


def evolve(state: AttemptState, event: AttemptEvent, sequence: int) -> AttemptState:
    """The state after an event; the very same object when the event is stale, repeated or out of place."""
    status = _next(state, event) if _of_this_epoch(state, event) else None
    if status is None:
        return state
    effect = _EFFECTS.get(event.type)
    return replace(state, status=status, since=sequence, **(effect(state, event) if effect else {}))


def taken_over(outcome: AttemptStatus, sequence: int) -> AttemptState:
    """An attempt whose result another run had."""
    return AttemptState(status=outcome, since=sequence, counts=True)


def cancel(state: AttemptState, sequence: int) -> AttemptState:
    return replace(state, status=AttemptStatus.CANCELLED, since=sequence)


def _of_this_epoch(state: AttemptState, event: AttemptEvent) -> bool:
    opening = event.type == "attempt.dispatched"
    if event.epoch != state.epoch + opening:
        return False
    if getattr(event, "round", state.round) != state.round + (event.type == "grade.dispatched"):
        return False
    step = getattr(event, "step", None)
    return step is None or step == state.step + (event.type == "attempt.step_dispatched")


def _next(state: AttemptState, event: AttemptEvent) -> AttemptStatus | None:
    ends_from = ENDED_BY.get(event.type)
    if ends_from is None:
        return ATTEMPT_TABLE.get((state.status, event.type))
    if state.status not in ends_from:
        return None
    match event:
        case AttemptGraded():
            return AttemptStatus.PASSED if event.passed else AttemptStatus.FAILED
        case AttemptSettled():
            return AttemptStatus(event.outcome)
        case _:
            return None
