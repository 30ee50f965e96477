"""From what a verifier wrote to the event that says so. Pure."""

from collections.abc import Mapping
from decimal import Decimal

from proctor.contracts.events import Artifacts, AttemptGraded, GradingFailed, StepGraded
from proctor.contracts.events.attempt import GradeSeconds
from proctor.contracts.work import GradeWork
from proctor.grader.failure import GradingError
from proctor.tasks import RewardError, Task, combine_steps, gate_failure, passed, read_rewards, score, verifier_mode


def verdict(
    work: GradeWork,
    task: Task,
    files: Mapping[str, bytes],
    seconds: GradeSeconds,
    artifacts: Artifacts | None,
) -> AttemptGraded | StepGraded:
    """Graded, or one step of several graded with more to come. Raises `GradingError`."""
    try:
        rewards = read_rewards(files)
        if work.step is None:
            return _graded(work, task, rewards, seconds, artifacts)
        config = task.steps[work.step].config
        last = work.step == len(task.steps) - 1
        if not last and gate_failure(config.min_reward, rewards) is None:
            return StepGraded(
                attempt=work.attempt,
                epoch=work.epoch,
                round=work.round,
                step=work.step,
                rewards=_text(rewards),
                seconds=seconds,
                artifacts=artifacts,
            )
        before = [_decimals(step) for step in work.step_rewards]
        missing = [None] * (len(task.steps) - len(before) - 1)
        combined = combine_steps(task.config.multi_step_reward_strategy, [*before, rewards, *missing])
        return _graded(work, task, combined, seconds, artifacts)
    except RewardError as error:
        raise GradingError(error.kind, str(error)) from error


def _graded(
    work: GradeWork, task: Task, rewards: Mapping[str, Decimal], seconds: GradeSeconds, artifacts: Artifacts | None
) -> AttemptGraded:
    value = score(rewards, work.reward_key)
    step = task.steps[work.step].config if work.step is not None else None
    return AttemptGraded(
        attempt=work.attempt,
        epoch=work.epoch,
        round=work.round,
        rewards=_text(rewards),
        score=str(value),
        threshold=work.threshold,
        passed=passed(value, Decimal(work.threshold)),
        mode=verifier_mode(task.config, step),
        seconds=seconds,
        artifacts=artifacts,
    )


def failed(work: GradeWork, error: GradingError, artifacts: Artifacts | None) -> GradingFailed:
    return GradingFailed(
        attempt=work.attempt,
        epoch=work.epoch,
        round=work.round,
        kind=error.kind,
        message=error.message,
        artifacts=artifacts,
    )


def _text(rewards: Mapping[str, Decimal]) -> dict[str, str]:
    return {key: str(value) for key, value in rewards.items()}


def _decimals(rewards: Mapping[str, str]) -> dict[str, Decimal]:
    return {key: Decimal(value) for key, value in rewards.items()}
