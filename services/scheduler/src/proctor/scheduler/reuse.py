"""Which results of an ended run another may take over: those that would come out of the very same settings."""

from collections import defaultdict, deque

from proctor.contracts.events import ResultsReused, RunSubmitted
from proctor.contracts.folds.run import TAKEN_OVER, RunState
from proctor.contracts.ids import Cell
from proctor.contracts.judge import judge_model
from proctor.contracts.manifest import ManifestTask, RunLock

_LETTERS = {status: letter for letter, status in TAKEN_OVER.items()}
TO_RUN = "."


def reuse(submitted: RunSubmitted, lock: RunLock, source: RunState, source_lock: RunLock | None) -> ResultsReused:
    """Pure. An agent's settings are its configuration, its name included, the values of its environment by their
    fingerprint, and what of the run's settings a result depends on. Of equal agents each takes over one's results."""
    tasks = _same_tasks(lock, source_lock)
    agents = _same_agents(submitted, lock, source, source_lock)
    number = lock.config.execution.attempts_per_task
    outcomes = tuple(_outcomes(source, agent, tasks, number) for agent in agents)
    return ResultsReused(
        source=source.run,
        source_name=source.submitted.name if source.submitted else source.run,
        position=source.last_sequence,
        agents=agents,
        tasks=tasks,
        outcomes=outcomes,
        count=sum(letter != TO_RUN for text in outcomes for letter in text),
    )


def _outcomes(source: RunState, agent: int | None, tasks: tuple[int | None, ...], number: int) -> str:
    if agent is None:
        return ""
    return "".join(_letter(source, agent, task, place) for task in tasks for place in range(1, number + 1))


def _letter(source: RunState, agent: int, task: int | None, number: int) -> str:
    if task is None:
        return TO_RUN
    attempt = source.attempts.get(str(Cell(agent, task, number)))
    return _LETTERS.get(attempt.status, TO_RUN) if attempt is not None and attempt.counts else TO_RUN


def _same_tasks(lock: RunLock, source: RunLock | None) -> tuple[int | None, ...]:
    known = {_content(task): index for index, task in enumerate(source.tasks)} if source else {}
    return tuple(known.get(_content(task)) for task in lock.tasks)


def _content(task: ManifestTask) -> tuple[str, str, str]:
    return task.name, task.digest, task.environment_digest


def _same_agents(
    submitted: RunSubmitted, lock: RunLock, source: RunState, source_lock: RunLock | None
) -> tuple[int | None, ...]:
    if source_lock is None or source.submitted is None or _measure(lock) != _measure(source_lock):
        return tuple(None for _ in lock.config.agents)
    known: defaultdict[str | None, deque[int]] = defaultdict(deque)
    for index, settings in enumerate(_settings(source.submitted, source_lock)):
        known[settings].append(index)
    known.pop(None, None)
    return tuple(known[settings].popleft() if known[settings] else None for settings in _settings(submitted, lock))


def _settings(submitted: RunSubmitted, lock: RunLock) -> list[str | None]:
    """What tells one agent from another; None where the values of its environment aren't known by a fingerprint."""
    if len(submitted.settings) != len(lock.config.agents):
        return [None for _ in lock.config.agents]
    return [
        agent.model_dump_json() + fingerprint
        for agent, fingerprint in zip(lock.config.agents, submitted.settings, strict=True)
    ]


def _measure(lock: RunLock) -> tuple[object, ...]:
    """What every result of a run depends on."""
    execution = lock.config.execution
    return (
        lock.proctor_version,
        lock.benchmark,
        lock.pass_threshold,
        lock.reward_key,
        execution.timeout_multiplier,
        lock.judge,
        judge_model(lock.judge, execution),
        execution.judge_api_key_secret,
        tuple(sorted(lock.config.verifier.required)),
    )
