"""What workers are told: that an epoch is over, that a step may begin, whether a lease is theirs."""

from collections.abc import Iterable, Mapping

from proctor.contracts.events import StepDispatched
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.folds.run import RunState
from proctor.contracts.messages import (
    Beat,
    BeatAnswer,
    Held,
    LeaseAnswer,
    LeaseOrder,
    LeaseRequest,
    StepOrder,
    SweepAnswer,
    SweepRequest,
)
from proctor.contracts.records import Recorded
from proctor.contracts.states import HELD_BY_RUNNER, TERMINAL_ATTEMPT, AttemptStatus

_OVER_FOR_RUNNER = TERMINAL_ATTEMPT | {AttemptStatus.DECIDING, AttemptStatus.RETRY_WAIT, AttemptStatus.PLANNED}


def following(
    state: RunState, before: Mapping[str, AttemptState], record: Recorded
) -> Iterable[tuple[str, LeaseOrder]]:
    """(worker, order) for everything that a record took from a worker. `before`: the attempts that were in slots."""
    event = record.event
    for key, old in before.items():
        new = state.attempt(key)
        if new is old:
            continue
        held = _held(state, key, old.epoch)
        if old.status in HELD_BY_RUNNER and new.status not in HELD_BY_RUNNER and old.worker:
            yield old.worker, LeaseOrder(held=held)
        if _grading(old) and not _grading(new) and old.grader and old.grader != record.writer:
            yield old.grader, LeaseOrder(held=held)
        if isinstance(event, StepDispatched) and new.worker:
            yield new.worker, LeaseOrder(held=held, step=event.step)


def _grading(attempt: AttemptState) -> bool:
    return attempt.status is AttemptStatus.GRADING


def _held(state: RunState, key: str, epoch: int) -> Held:
    return Held(workspace=state.workspace, run=state.run, attempt=key, epoch=epoch)


def answer(beat: Beat, states: Mapping[str, RunState]) -> BeatAnswer:
    """What a worker says it holds, against the log. A run that isn't open holds nothing."""
    over: list[Held] = []
    steps: list[StepOrder] = []
    for held in beat.held:
        state = states.get(held.run)
        attempt = state.attempt(held.attempt) if state else None
        if attempt is None or _over(attempt, held, beat):
            over.append(held)
        elif attempt.status is AttemptStatus.SANDBOX_READY and attempt.step > 0:
            steps.append(StepOrder(held=held, step=attempt.step))
    return BeatAnswer(over=tuple(over), steps=tuple(steps))


def swept(request: SweepRequest, states: Mapping[str, RunState]) -> SweepAnswer:
    """Of what was found on an engine, all that no attempt needs any more."""
    return SweepAnswer(over=tuple(held for held in request.found if not _needed(held, states.get(held.run))))


def _needed(held: Held, state: RunState | None) -> bool:
    if state is None:
        return False
    attempt = state.attempt(held.attempt)
    return attempt.epoch == held.epoch and attempt.status in HELD_BY_RUNNER


def _over(attempt: AttemptState, held: Held, beat: Beat) -> bool:
    if attempt.epoch != held.epoch:
        return attempt.epoch > held.epoch
    if beat.kind == "grader":
        # a claim that isn't folded yet is not over
        waiting = attempt.status is AttemptStatus.GRADE_DISPATCHED
        return not waiting and not (_grading(attempt) and attempt.grader == beat.worker)
    if attempt.status in HELD_BY_RUNNER:
        return attempt.worker != beat.worker
    return attempt.status in _OVER_FOR_RUNNER


def lease(request: LeaseRequest, state: RunState | None) -> LeaseAnswer:
    """Yes only for the first claim of the current epoch in a run that isn't stopping."""
    if state is None or state.ended or state.stop is not None:
        return LeaseAnswer(granted=False, reason="the run is over or stopping")
    attempt = state.attempt(request.held.attempt)
    if attempt.epoch != request.held.epoch:
        return LeaseAnswer(granted=False, reason="the epoch is over")
    if request.kind == "attempt":
        first = attempt.status is AttemptStatus.CLAIMED and attempt.worker == request.worker
        mine = first and attempt.incarnation == request.incarnation
    else:
        first = _grading(attempt) and attempt.grader == request.worker and attempt.round == request.round
        mine = first and attempt.grader_incarnation == request.incarnation
    if mine and attempt.since == request.sequence:
        return LeaseAnswer(granted=True)
    return LeaseAnswer(granted=False, reason="another worker claimed it first")
