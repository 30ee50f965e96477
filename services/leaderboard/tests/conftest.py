"""Valid histories of runs, with the repeats and stragglers that a real log has, in memory and on a real bus."""

import random
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from nats.aio.client import Client

from proctor.contracts.config import RunConfig
from proctor.contracts.events import (
    AgentFinished,
    AgentStarted,
    Artifacts,
    AttemptCancelled,
    AttemptClaimed,
    AttemptCleaned,
    AttemptDispatched,
    AttemptErrored,
    AttemptGraded,
    AttemptSettled,
    Event,
    GradeClaimed,
    GradeDispatched,
    GradeLost,
    GradingFailed,
    LeaseLost,
    ResultsReused,
    RetryScheduled,
    RunCleaned,
    RunFinished,
    RunPlanned,
    RunStopped,
    RunSubmitted,
    RunWaiting,
    SandboxReady,
    StepDispatched,
    StepGraded,
    StopRequested,
    Usage,
)
from proctor.contracts.events.attempt import GradeSeconds
from proctor.contracts.manifest import ManifestTask, RunLock
from proctor.contracts.metering import PhaseUse, SandboxRates
from proctor.contracts.outcomes import Outcome
from proctor.contracts.records import Recorded
from proctor.contracts.work import AgentRef, AttemptWork, GradeWork, TaskRef
from proctor.eventlog import EventLog
from proctor.objects import Objects

Written = tuple[str, Event]
START = datetime(2026, 1, 1, tzinfo=UTC)


class Server(Protocol):
    url: str
    folder: Path

    def start(self) -> None: ...
    def kill(self) -> None: ...


class History:
    """One run's events as (writer, event), by a seed. `agents`: `<harness>` or `<harness>:<name>`. `wild` adds
    retries, lost leases, repeats and stragglers; with `broken` no verifier gives a reward."""

    def __init__(
        self,
        seed: int = 0,
        *,
        workspace: str = "acme",
        run: str = "run0",
        benchmark: str = "bench",
        agents: tuple[str, ...] = ("oracle",),
        tasks: int = 3,
        attempts: int = 1,
        task_set: str = "full",
        version: str = "v1",
        wild: bool = False,
        stop: bool = False,
        pass_rate: float = 0.5,
        steps: int = 1,
        broken: bool = False,
        reused: ResultsReused | None = None,
    ) -> None:
        self.reused = reused
        self.rng = random.Random(seed)
        self.workspace, self.run, self.benchmark = workspace, run, benchmark
        self.wild, self.stop, self.pass_rate, self.steps, self.broken = wild, stop, pass_rate, steps, broken
        self.task_set, self.version, self.attempts = task_set, version, attempts
        self.config = RunConfig.model_validate(
            {
                "experiment": {"benchmark": "k"},
                "agents": [
                    {"harness": harness, "name": name or None}
                    for harness, _, name in (agent.partition(":") for agent in agents)
                ],
                "execution": {"attempts_per_task": attempts},
            }
        )
        self.tasks = tuple(
            ManifestTask(
                name=f"acme/task-{index}",
                digest=f"d{index}",
                package=f"p{index}",
                environment_digest="e",
                category=(None, "math", "code")[index % 3],
                difficulty=("easy", None)[index % 2],  # pyright: ignore[reportArgumentType]
            )
            for index in range(tasks)
        )
        self.tally = dict.fromkeys(("passed", "failed", "errored", "cancelled"), 0)
        self.sandboxes: list[tuple[str, int]] = []

    @property
    def lock(self) -> RunLock:
        return RunLock(
            proctor_version="1",
            benchmark=self.benchmark,
            benchmark_key="k",
            version=self.version,
            task_set=self.task_set,  # pyright: ignore[reportArgumentType]
            pass_threshold="1.0",
            reward_key=None,
            config=self.config,
            tasks=self.tasks,
        )

    def events(self, lock: str = "lock/x") -> Iterator[Written]:
        yield "gateway", self.submitted()
        yield "scheduler", self.planned(lock)
        if self.reused:
            yield "scheduler", self.reused
        if self.wild:
            yield "scheduler", RunWaiting(reason="no runner in pool default")
            yield "scheduler", RunWaiting(reason="")
        yield from self._attempts()
        if self.stop:
            yield "gateway", StopRequested(reason="enough", requested_by="u1")
            yield "scheduler", AttemptCancelled(reason="stopped")
        yield from self._clean()
        if self.stop:
            yield "scheduler", RunStopped(reason="enough")
        else:
            yield "scheduler", RunFinished(**self.tally)
        yield "scheduler", RunCleaned()

    def submitted(self) -> RunSubmitted:
        return RunSubmitted(
            run=self.run,
            name=f"calm-{self.run}",
            benchmark=self.benchmark,
            benchmark_key="k",
            benchmark_name="K",
            version=self.version,
            manifest="manifest/m",
            pass_threshold="1.0",
            config=self.config,
            submitted_by="u1",
            rates=SandboxRates(hour=3.6),
        )

    def planned(self, lock: str) -> RunPlanned:
        return RunPlanned(
            lock=lock,
            task_set=self.task_set,  # pyright: ignore[reportArgumentType]
            agents=len(self.config.agents),
            tasks=len(self.tasks),
            attempts_per_task=self.attempts,
            max_concurrent_attempts=4,
            max_retries=2,
        )

    def _attempts(self) -> Iterator[Written]:
        cells = [
            f"{agent}-{task}-{number}"
            for task in range(len(self.tasks))
            for number in range(1, self.attempts + 1)
            for agent in range(len(self.config.agents))
        ]
        left = self.rng.randrange(1, len(cells) * 6) if self.stop else -1
        waiting, active = [self.attempt(cell) for cell in cells], list[Iterator[Written]]()
        past: list[Written] = []
        while (waiting or active) and left != 0:
            while waiting and len(active) < 4:
                active.append(waiting.pop(0))
            one = self.rng.choice(active)
            written = next(one, None)
            if written is None:
                active.remove(one)
                continue
            left -= 1
            past.append(written)
            yield written
            if self.wild and self.rng.random() < 0.1:
                yield self.rng.choice(past)

    def attempt(self, key: str) -> Iterator[Written]:
        rng, worker, tries = self.rng, f"runner-{self.rng.randrange(2)}", 0
        for epoch in range(1, 20):
            of: dict[str, Any] = {"attempt": key, "epoch": epoch}
            yield "scheduler", AttemptDispatched(pool="default", work=self._work(key, epoch), **of)
            yield worker, AttemptClaimed(worker=worker, incarnation="i", host="h", **of)
            self.sandboxes.append((key, epoch))
            if self.wild and rng.random() < 0.15:
                yield "scheduler", LeaseLost(worker=worker, reason="silent", **of)
                continue
            yield worker, SandboxReady(sandbox="s", backend="docker", image="img", seconds=0.25, **of)
            if self.wild and rng.random() < 0.15:
                yield worker, AttemptErrored(phase="setup", kind="setup_failed", message="exit 1\0", **of)
                if tries < 2:
                    tries += 1
                    yield "scheduler", RetryScheduled(kind="setup_failed", delay=1.5, tries=tries, **of)
                    continue
                yield "scheduler", self.settled(of, Outcome.ERRORED, "setup_failed")
                return
            yield worker, AgentStarted(**of)
            yield from self._steps(of, worker)
            return

    def _steps(self, of: dict[str, Any], worker: str) -> Iterator[Written]:
        for step in range(self.steps):
            many = self.steps > 1
            kind = "agent_timeout" if self.wild and self.rng.random() < 0.2 else None
            yield (
                worker,
                AgentFinished(
                    step=step if many else None,
                    kind=kind,
                    seconds=self.rng.choice((1.5, 2.0, 7.25)),
                    usage=self._usage(),
                    artifacts=Artifacts(object=f"artifact/{of['attempt']}.{step}", size=1, files=1),
                    **of,
                ),
            )
            yield from self._grading(of, step, last=step == self.steps - 1)
            if many and step < self.steps - 1:
                yield "scheduler", StepDispatched(step=step + 1, **of)
                yield worker, AgentStarted(step=step + 1, **of)

    def _grading(self, of: dict[str, Any], step: int, *, last: bool) -> Iterator[Written]:
        rng, number = self.rng, step + 1
        yield "scheduler", self._grade(of, number)
        yield "grader-0", GradeClaimed(round=number, worker="grader-0", incarnation="g", **of)
        seconds = GradeSeconds(startup=0.0, transfer=0.125, run=1.0, parse=0.0)
        if not last:
            yield "grader-0", StepGraded(round=number, step=step, rewards={"reward": "0.5"}, seconds=seconds, **of)
        elif self.broken or (self.wild and rng.random() < 0.1):
            yield "grader-0", GradingFailed(round=number, kind="reward_missing", message="no reward", **of)
            yield "scheduler", self.settled(of, Outcome.ERRORED, "reward_missing")
        elif self.wild and self.steps == 1 and rng.random() < 0.1:
            yield "scheduler", GradeLost(round=number, worker="grader-0", reason="silent", **of)
            yield "scheduler", self._grade(of, 2)
            yield "grader-1", GradeClaimed(round=2, worker="grader-1", incarnation="g", **of)
            yield "grader-1", self.graded(of, 2, seconds, passed=True)
        else:
            yield "grader-0", self.graded(of, number, seconds, passed=rng.random() < self.pass_rate)

    def graded(self, of: dict[str, Any], number: int, seconds: GradeSeconds, *, passed: bool) -> AttemptGraded:
        self.tally["passed" if passed else "failed"] += 1
        score = "1.0" if passed else "0.0"
        return AttemptGraded(
            round=number,
            rewards={"reward": score},
            score=score,
            threshold="1.0",
            passed=passed,
            mode="shared",
            seconds=seconds,
            artifacts=Artifacts(object=f"artifact/{of['attempt']}.verifier", size=1, files=1, cut=True),
            **of,
        )

    def settled(self, of: dict[str, Any], outcome: Outcome, kind: str) -> AttemptSettled:
        self.tally[outcome.value] += 1
        return AttemptSettled(outcome=outcome, kind=kind, message=kind, counts=False, **of)  # pyright: ignore[reportArgumentType]

    def _usage(self) -> Usage:
        if self.wild and self.rng.random() < 0.2:
            return Usage()
        rng = self.rng
        return Usage(input_tokens=rng.randrange(1000), output_tokens=rng.randrange(100), cost_usd=rng.random())

    def _work(self, key: str, epoch: int) -> AttemptWork:
        return AttemptWork(
            workspace=self.workspace,
            run=self.run,
            run_name="n",
            attempt=key,
            epoch=epoch,
            task=TaskRef(name="t", digest="d", package="p"),
            agent=AgentRef(index=0, harness="oracle", model=None),
            timeout_multiplier=1,
            lifetime=60,
        )

    def _grade(self, of: dict[str, Any], number: int) -> GradeDispatched:
        work = GradeWork(
            workspace=self.workspace,
            run=self.run,
            attempt=of["attempt"],
            epoch=of["epoch"],
            round=number,
            sandbox="s",
            runner="r",
            task=TaskRef(name="t", digest="d", package="p"),
            step=None,
            timeout_multiplier=1,
            threshold="1.0",
            reward_key=None,
        )
        return GradeDispatched(pool="default", round=number, work=work, **of)

    def _clean(self) -> Iterator[Written]:
        for key, epoch in self.sandboxes:
            measured = not self.wild or self.rng.random() < 0.7
            use = (
                PhaseUse(phase="environment", seconds=0.5),
                PhaseUse(phase="agent", seconds=2.0, cpu_seconds=0.25, memory_peak_bytes=2**20 * (epoch + 1)),
            )
            yield "runner-0", AttemptCleaned(attempt=key, epoch=epoch, sandbox="s", use=use if measured else ())

    def records(self) -> list[Recorded]:
        """As they would be read back: one second between events."""
        return [
            Recorded(
                sequence=place,
                workspace=self.workspace,
                aggregate="run",
                id=self.run,
                writer=writer,
                recorded_at=START + timedelta(seconds=place),
                occurred_at=None,
                actor=None,
                event=event,
            )
            for place, (writer, event) in enumerate(self.events(), start=1)
        ]


@pytest.fixture(scope="session")
def history() -> type[History]:
    return History


Append = Callable[..., Awaitable[int]]


@pytest.fixture
async def append(own_bus: Client) -> Append:
    """Write histories to the log, each run's lock first, their events mixed by a seed. The last sequence."""
    logs: dict[str, EventLog] = {}

    async def write(*histories: History, seed: int = 0) -> int:
        rng, last = random.Random(seed), 0
        streams: list[tuple[History, Iterator[Written]]] = []
        for one in histories:
            lock = await Objects(own_bus).put_once("lock", one.lock.model_dump_json().encode())
            streams.append((one, one.events(lock)))
        while streams:
            pick = rng.choice(streams)
            one, events = pick
            written = next(events, None)
            if written is None:
                streams.remove(pick)
                continue
            writer, event = written
            log = logs.setdefault(writer, EventLog(own_bus, writer))
            last = await log.append(event, workspace=one.workspace, aggregate="run", id=one.run)
        return last

    return write
