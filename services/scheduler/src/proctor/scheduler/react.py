"""What follows from a run's log: pure, and so found again after any crash."""

import hashlib
from collections.abc import Iterable
from typing import Final

from proctor.contracts.config import model_label
from proctor.contracts.events import (
    AttemptCancelled,
    AttemptDispatched,
    AttemptSettled,
    BudgetReached,
    GradeDispatched,
    RetryScheduled,
    RunCleaned,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStopped,
    StepDispatched,
)
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.folds.run import RunState
from proctor.contracts.ids import Cell
from proctor.contracts.judge import judge_work
from proctor.contracts.manifest import ManifestTask, RunLock
from proctor.contracts.outcomes import MAX_REDISPATCHES, Outcome, policy
from proctor.contracts.states import AttemptStatus
from proctor.contracts.work import AgentRef, AttemptWork, GradeWork, TaskRef

DEFAULT_POOL: Final = "default"
SETUP_SECONDS: Final = 360.0
GRADING_WAIT_SECONDS: Final = 86_400.0
LONGEST_SECONDS: Final = 30 * 86_400.0
GRACE_SECONDS: Final = 300.0
BACKOFF_SECONDS: Final = (2.0, 600.0)


def react(
    state: RunState, lock: RunLock | None, keys: Iterable[str], budget_reached: BudgetReached | None = None
) -> list[RunEvent]:
    """Decisions about the attempts in `keys`, then about the run. The plan itself is made in `plan`, what another
    run's results are good for in `reuse`."""
    if state.ended:
        return [RunCleaned()] if not state.cleaned and not state.sandboxes else []
    if state.stop is not None or state.cancelled:
        return _stop(state, _why(state))
    if lock is None or state.awaits_reuse:
        return []
    stopping = state.agent_stops.items() if state.planned else ()
    events: list[RunEvent] = [
        AttemptCancelled(reason=reason, agent=agent)
        for agent, reason in stopping
        if agent not in state.agents_cancelled
    ]
    events += [event for key in keys for event in _attempt(state, lock, key, state.attempt(key))]
    return events or _end(state) or _spent(state, budget_reached)


def _why(state: RunState) -> str:
    if state.stop is not None:
        return state.stop.reason
    if state.budget_reached is not None:
        return "the budget is used up"
    return "paused for too long" if state.paused is not None else "cancelled"


def _spent(state: RunState, budget_reached: BudgetReached | None) -> list[RunEvent]:
    """Once what was under way has ended, the run is stopped. A run with nothing left to dispatch just ends."""
    if state.in_slots or state.settled >= state.expected or any(map(lost_before, state.attempts.values())):
        return []
    if state.budget_reached is None:
        return [budget_reached] if budget_reached else []
    return [AttemptCancelled(reason=_why(state))]


def lost_before(attempt: AttemptState) -> bool:
    """It was under way when its runner was lost, so it is dispatched again whatever is used up by now."""
    return attempt.status is AttemptStatus.PLANNED and attempt.epoch > 0


def _stop(state: RunState, reason: str) -> list[RunEvent]:
    if not state.cancelled:
        return [AttemptCancelled(reason=reason)]
    return [] if state.sandboxes else [RunStopped(reason=reason)]


def _end(state: RunState) -> list[RunEvent]:
    if not state.expected or state.settled < state.expected:
        return []
    tally = state.tally
    if any(attempt.counts for attempt in state.attempts.values()):
        return [
            RunFinished(
                passed=tally[AttemptStatus.PASSED],
                failed=tally[AttemptStatus.FAILED],
                errored=tally[AttemptStatus.ERRORED],
                cancelled=tally[AttemptStatus.CANCELLED],
            )
        ]
    if tally[AttemptStatus.CANCELLED] == state.expected:
        return [RunStopped(reason="every agent was stopped")]
    kinds = sorted({attempt.kind or "unknown" for attempt in state.attempts.values()})
    message = f"no agent could finish: every attempt ended with {', '.join(kinds)}"
    return [RunFailed(kind="no_agent_finished", message=message)]


def _attempt(state: RunState, lock: RunLock, key: str, attempt: AttemptState) -> list[RunEvent]:
    match attempt.status:
        case AttemptStatus.PLANNED if attempt.redispatches > MAX_REDISPATCHES:
            message = f"the runner was lost {attempt.redispatches} times"
            return [_settled(key, attempt, Outcome.ERRORED, "runner_lost", message)]
        case AttemptStatus.AWAITING_GRADE if attempt.regrades > MAX_REDISPATCHES:
            message = f"the grader was lost {attempt.regrades} times"
            return [_settled(key, attempt, Outcome.ERRORED, "grader_unavailable", message)]
        case AttemptStatus.DECIDING:
            return [_decide(state, key, attempt)]
        case AttemptStatus.AWAITING_GRADE:
            return [grade_dispatch(state, lock, key, attempt)]
        case AttemptStatus.STEP_GRADED:
            return [StepDispatched(attempt=key, epoch=attempt.epoch, step=attempt.step + 1)]
        case _:
            return []


def _decide(state: RunState, key: str, attempt: AttemptState) -> RunEvent:
    kind = attempt.kind or "platform_error"
    row, limit = policy(kind), state.planned.max_retries if state.planned else 0
    if row.retry and attempt.tries < limit:
        return RetryScheduled(
            attempt=key,
            epoch=attempt.epoch,
            kind=kind,
            delay=backoff(f"{state.run}.{key}", attempt.tries),
            tries=attempt.tries + 1,
        )
    outcome = Outcome.FAILED if row.counts else Outcome.ERRORED
    return _settled(key, attempt, outcome, kind, attempt.message or kind)


def _settled(key: str, attempt: AttemptState, outcome: Outcome, kind: str, message: str) -> AttemptSettled:
    failed = outcome is Outcome.FAILED
    return AttemptSettled(
        attempt=key,
        epoch=attempt.epoch,
        outcome=Outcome.FAILED if failed else Outcome.ERRORED,
        kind=kind,
        message=message,
        counts=failed,
    )


def backoff(seed: str, tries: int) -> float:
    """Doubling with a jitter of up to a half that depends on the attempt alone, so that a refold gives the same."""
    first, most = BACKOFF_SECONDS
    jitter = int.from_bytes(hashlib.sha256(f"{seed}.{tries}".encode()).digest()[:4]) / 2**32
    return round(min(most, first * 2**tries) * (0.5 + jitter / 2), 3)


def dispatch(state: RunState, lock: RunLock, key: str) -> AttemptDispatched:
    """The work item of an attempt's next epoch."""
    cell, epoch = Cell.parse(key), state.attempt(key).epoch + 1
    task, agent = lock.tasks[cell.task], lock.config.agents[cell.agent]
    multiplier = lock.config.execution.timeout_multiplier
    return AttemptDispatched(
        attempt=key,
        epoch=epoch,
        pool=DEFAULT_POOL,
        work=AttemptWork(
            workspace=state.workspace,
            run=state.run,
            run_name=state.submitted.name if state.submitted else state.run,
            attempt=key,
            epoch=epoch,
            task=_reference(task),
            agent=AgentRef(index=cell.agent, harness=agent.harness or "oracle", model=model_label(agent.model)),
            literals=lock.config.vaulted(cell.agent),
            timeout_multiplier=multiplier,
            lifetime=phase_seconds(task, multiplier) + GRADING_WAIT_SECONDS,
        ),
    )


def grade_dispatch(state: RunState, lock: RunLock, key: str, attempt: AttemptState) -> GradeDispatched:
    cell, number = Cell.parse(key), attempt.round + 1
    task = lock.tasks[cell.task]
    return GradeDispatched(
        attempt=key,
        epoch=attempt.epoch,
        pool=DEFAULT_POOL,
        round=number,
        work=GradeWork(
            workspace=state.workspace,
            run=state.run,
            attempt=key,
            epoch=attempt.epoch,
            round=number,
            sandbox=attempt.sandbox or "",
            runner=attempt.worker or "",
            task=_reference(task),
            literals=lock.config.vaulted(cell.agent),
            step=attempt.step if task.steps > 1 else None,
            step_rewards=tuple(dict(rewards) for rewards in attempt.step_rewards),
            timeout_multiplier=lock.config.execution.timeout_multiplier,
            threshold=lock.pass_threshold,
            reward_key=lock.reward_key,
            judge=judge_work(lock.judge, lock.config.execution),
        ),
    )


def _reference(task: ManifestTask) -> TaskRef:
    return TaskRef(name=task.name, digest=task.digest, package=task.package)


def phase_seconds(task: ManifestTask, multiplier: float) -> float:
    """The longest a runner may take from its claim to the end of the agent phase, before the grace."""
    agent = task.agent_timeout if task.agent_timeout is not None else 86_400.0
    return min(LONGEST_SECONDS, (task.build_timeout + SETUP_SECONDS + agent) * multiplier * max(1, task.steps))
