"""How fast a history becomes a state: 10,000 attempts in one run, ten events each, folded from memory and from JSON."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from report import Row

from proctor.contracts import records
from proctor.contracts.config import RunConfig
from proctor.contracts.events import (
    AgentFinished,
    AgentStarted,
    AttemptClaimed,
    AttemptCleaned,
    AttemptDispatched,
    AttemptGraded,
    Event,
    GradeClaimed,
    GradeDispatched,
    RunPlanned,
    RunSubmitted,
    SandboxReady,
)
from proctor.contracts.events.attempt import GradeSeconds
from proctor.contracts.folds.run import RunState, apply
from proctor.contracts.ids import Cell
from proctor.contracts.records import Recorded
from proctor.contracts.states import AttemptStatus
from proctor.contracts.work import AgentRef, AttemptWork, GradeWork, TaskRef

TASKS, ATTEMPTS = 1_000, 10
ROUNDS = 3
_WORKER, _GRADER, _INCARNATION = "runner-1-host", "grader-1-host", "a1b2c3d4"
_TASK = TaskRef(name="bench/first", digest="sha256:" + "0" * 64, package="task/" + "0" * 64)


def measure() -> list[Row]:
    events = list(_history())
    when = datetime.now(UTC)
    history = [
        Recorded(
            sequence=sequence,
            workspace="bench",
            aggregate="run",
            id="run",
            writer="scheduler",
            recorded_at=when,
            occurred_at=when,
            actor=None,
            event=event,
        )
        for sequence, event in enumerate(events, 1)
    ]
    texts = [records.encode(event) for event in events]
    return [
        Row("events folded", "1/s", len(history), max(_folded(history) for _ in range(ROUNDS))),
        Row("events decoded", "1/s", len(texts), max(_decoded(texts) for _ in range(ROUNDS))),
    ]


def _folded(history: list[Recorded]) -> float:
    state = RunState("bench", "run")
    began = time.perf_counter()
    for record in history:
        apply(state, record)
    seconds = time.perf_counter() - began
    assert state.tally[AttemptStatus.PASSED] == TASKS * ATTEMPTS, state.tally
    return len(history) / seconds


def _decoded(texts: list[bytes]) -> float:
    began = time.perf_counter()
    for text in texts:
        records.decode(text, {})
    return len(texts) / (time.perf_counter() - began)


def _history() -> Iterator[Event]:
    config = RunConfig.model_validate({"experiment": {"benchmark": "bench"}, "agents": [{"harness": "oracle"}]})
    yield RunSubmitted(
        run="run",
        name="bright-otter",
        benchmark="bench",
        benchmark_key="bench",
        benchmark_name="bench",
        version="sha256:" + "0" * 64,
        manifest="manifest/" + "0" * 64,
        pass_threshold="1.0",
        config=config,
        submitted_by="owner",
    )
    yield RunPlanned(
        lock="lock/" + "0" * 64,
        task_set="full",
        agents=1,
        tasks=TASKS,
        attempts_per_task=ATTEMPTS,
        max_concurrent_attempts=4,
        max_retries=0,
    )
    for task in range(TASKS):
        for number in range(1, ATTEMPTS + 1):
            yield from attempt_events(str(Cell(0, task, number)))


def attempt_events(key: str) -> Iterator[Event]:
    """A graded attempt of the run `run`."""
    sandbox = f"run-{key}-1"
    work = AttemptWork(
        workspace="bench",
        run="run",
        run_name="bright-otter",
        attempt=key,
        epoch=1,
        task=_TASK,
        agent=AgentRef(index=0, harness="oracle"),
        timeout_multiplier=1.0,
        lifetime=3600,
    )
    grade = GradeWork(
        workspace="bench",
        run="run",
        attempt=key,
        epoch=1,
        round=1,
        sandbox=sandbox,
        runner=_WORKER,
        task=_TASK,
        timeout_multiplier=1.0,
        threshold="1.0",
    )
    yield AttemptDispatched(attempt=key, epoch=1, pool="default", work=work)
    yield AttemptClaimed(attempt=key, epoch=1, worker=_WORKER, incarnation=_INCARNATION, host="host")
    yield SandboxReady(attempt=key, epoch=1, sandbox=sandbox, backend="docker", image="sha256:0", seconds=0.2)
    yield AgentStarted(attempt=key, epoch=1)
    yield AgentFinished(attempt=key, epoch=1, seconds=0.1)
    yield GradeDispatched(attempt=key, epoch=1, pool="default", round=1, work=grade)
    yield GradeClaimed(attempt=key, epoch=1, round=1, worker=_GRADER, incarnation=_INCARNATION)
    yield AttemptGraded(
        attempt=key,
        epoch=1,
        round=1,
        rewards={"reward": "1"},
        score="1",
        threshold="1.0",
        passed=True,
        mode="shared",
        seconds=GradeSeconds(startup=0, transfer=0.01, run=0.01, parse=0.01),
    )
    yield AttemptCleaned(attempt=key, epoch=1, sandbox=sandbox)
