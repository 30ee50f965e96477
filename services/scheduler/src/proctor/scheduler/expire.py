"""Deadlines: what becomes of a state whose owner didn't move it on in time."""

from collections.abc import Container, Iterable

from proctor.contracts.events import (
    AttemptCancelled,
    AttemptSettled,
    GradeLost,
    LeaseLost,
    RunEvent,
    RunFailed,
    SandboxAbandoned,
)
from proctor.contracts.folds.attempt import AttemptState
from proctor.contracts.manifest import RunLock
from proctor.contracts.messages import Beat
from proctor.contracts.outcomes import Outcome
from proctor.contracts.states import ATTEMPT_WATCH, HELD_BY_RUNNER, PAUSE_WATCH, RUN_WATCH, AttemptStatus, RunStatus
from proctor.scheduler.react import phase_seconds
from proctor.scheduler.track import Track

STOP_SECONDS = 60.0
UNHELD_SECONDS = 15.0
_WITH_RUNNER = frozenset({AttemptStatus.CLAIMED, AttemptStatus.SANDBOX_READY, AttemptStatus.AGENT_RUNNING})
_WITHOUT_GRADER = frozenset({AttemptStatus.AWAITING_GRADE, AttemptStatus.GRADE_DISPATCHED})
_FAILURES = {
    RunStatus.PENDING: ("planning_timeout", "the run wasn't planned within 10 minutes"),
    RunStatus.QUEUED: ("no_capacity", "no runner took an attempt of the run within 24 hours"),
    RunStatus.RUNNING: ("no_capacity", "nothing of the run moved for 24 hours"),
}


def expired(track: Track, now: float) -> list[RunEvent]:
    """What is overdue in a run, by this process's clock."""
    state = track.state
    if state.ended or state.cancelled:
        left = state.sandboxes if now - track.since >= STOP_SECONDS and now - track.moved >= STOP_SECONDS else {}
        return _abandoned(left.values())
    if state.paused is not None:
        forgotten = now - track.moved > PAUSE_WATCH.seconds
        return [AttemptCancelled(reason="paused for 7 days: nobody resumed it")] if forgotten else _late(track, now)
    watch = RUN_WATCH[state.status]
    taken = state.in_slots - state.tally[AttemptStatus.DISPATCHED]
    if now - track.moved > watch.seconds and not taken:
        kind, message = _FAILURES[state.status]
        return [RunFailed(kind=kind, message=message)]
    return _late(track, now)


def _late(track: Track, now: float) -> list[RunEvent]:
    """Attempts that are overdue."""
    lock, state = track.lock, track.state
    if lock is None:
        return []
    overdue = ((key, state.attempt(key), now - entered) for key, entered in track.entered.items())
    return [event for key, attempt, age in overdue for event in _overdue(lock, key, attempt, age)]


def _abandoned(workers: Iterable[str]) -> list[RunEvent]:
    counts: dict[str, int] = {}
    for worker in workers:
        counts[worker] = counts.get(worker, 0) + 1
    return [SandboxAbandoned(worker=worker, count=count) for worker, count in counts.items()]


def _overdue(lock: RunLock, key: str, attempt: AttemptState, age: float) -> list[RunEvent]:
    task, multiplier = lock.tasks[int(key.split("-")[1])], lock.config.execution.timeout_multiplier
    granted = ATTEMPT_WATCH[attempt.status].seconds
    if attempt.status in _WITH_RUNNER and age > granted + phase_seconds(task, multiplier):
        return [lost(key, attempt, "overdue")]
    if attempt.status is AttemptStatus.GRADING and age > granted + task.verifier_timeout * multiplier:
        return [grade_lost(key, attempt, "overdue")]
    if attempt.status in _WITHOUT_GRADER and age > granted:
        return [
            AttemptSettled(
                attempt=key,
                epoch=attempt.epoch,
                outcome=Outcome.ERRORED,
                kind="grader_unavailable",
                message="no grader took the attempt within 24 hours",
                counts=False,
            )
        ]
    return []


def orphaned(track: Track, workers: Container[str]) -> list[RunEvent]:
    """What a run has with workers that are gone: those who aren't among `workers`."""
    events: list[RunEvent] = []
    for key in track.entered:
        attempt = track.state.attempt(key)
        for name in {attempt.worker, attempt.grader} - {None}:
            if name is not None and name not in workers:
                events += _left_by(key, attempt, name, "silent")
    return events


def unheld(track: Track, beat: Beat, now: float) -> list[RunEvent]:
    """What a living worker no longer holds: it restarted, or dropped it without a word."""
    held = {(one.run, one.attempt, one.epoch) for one in beat.held}
    events: list[RunEvent] = []
    for key, entered in track.entered.items():
        attempt = track.state.attempt(key)
        incarnation = attempt.grader_incarnation if attempt.grader == beat.worker else attempt.incarnation
        if (track.state.run, key, attempt.epoch) in held:
            continue
        if beat.draining or incarnation != beat.incarnation or now - entered > UNHELD_SECONDS:
            reason = "drained" if beat.draining else "restarted"
            events += _left_by(key, attempt, beat.worker, reason)
    return events


def _left_by(key: str, attempt: AttemptState, worker: str, reason: str) -> list[RunEvent]:
    if attempt.worker == worker and attempt.status in HELD_BY_RUNNER:
        return [lost(key, attempt, reason)]
    if attempt.grader == worker and attempt.status is AttemptStatus.GRADING:
        return [grade_lost(key, attempt, reason)]
    return []


def lost(key: str, attempt: AttemptState, reason: str) -> LeaseLost:
    return LeaseLost.model_validate(
        {"attempt": key, "epoch": attempt.epoch, "worker": attempt.worker, "reason": reason}
    )


def grade_lost(key: str, attempt: AttemptState, reason: str) -> GradeLost:
    return GradeLost.model_validate(
        {
            "attempt": key,
            "epoch": attempt.epoch,
            "round": attempt.round,
            "worker": attempt.grader,
            "reason": reason,
        }
    )
