"""What a try used, by phase: the arithmetic, and a real sandbox's own numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contracts.events import AgentFinished, AgentStarted, AttemptCleaned, AttemptErrored
from proctor.contracts.messages import Execute, LeaseOrder, Spawn
from proctor.contracts.metering import PhaseUse, added
from proctor.sandbox_runner.meter import Meter, Span, attributed
from proctor.sandbox_runner.sandbox.protocol import Sandbox, Usage

type MakeTask = Callable[..., Path]

MIB = 1 << 20
BURN = "for ((i = 0; i < 1000000; i++)); do :; done"
"""About a second of one CPU."""


def use(phase: Any, seconds: float, cpu: float | None = None, peak: int | None = None) -> PhaseUse:
    return PhaseUse(phase=phase, seconds=seconds, cpu_seconds=cpu, memory_peak_bytes=peak)


@pytest.mark.parametrize(
    ("spans", "parts"),
    [
        (
            [Span("setup", 1, Usage(2.0, 5)), Span("agent", 9, Usage(6.5, 7)), Span("grade", 1, Usage(6.5, 7))],
            [use("setup", 1, 2.0, 5), use("agent", 9, 4.5, 7), use("grade", 1, 0.0, 7)],
        ),
        # what couldn't be read is not lost: the next phase has it
        (
            [Span("setup", 1, Usage(2.0, 5)), Span("agent", 9, Usage()), Span("grade", 1, Usage(7.0, 9))],
            [use("setup", 1, 2.0, 5), use("agent", 9), use("grade", 1, 5.0, 9)],
        ),
        # a sandbox that is gone: a counter never goes back
        (
            [Span("setup", 1, Usage(2.0, 5)), Span("agent", 9, Usage(0.0)), Span("grade", 1, Usage(2.5))],
            [use("setup", 1, 2.0, 5), use("agent", 9, 0.0), use("grade", 1, 0.5)],
        ),
        ([Span("setup", 1, Usage())], [use("setup", 1)]),
        ([], []),
    ],
)
def test_cumulative_readings_as_phases(spans: list[Span], parts: list[PhaseUse]) -> None:
    assert list(attributed(spans)) == parts


def test_steps_and_verifiers_add_up_by_phase() -> None:
    steps = [use("agent", 2, 1.0, 50), use("grade", 1), use("agent", 3, 0.5, 60), use("grade", 4, 0.25, 10)]
    assert added(steps) == (use("agent", 5, 1.5, 60), use("grade", 5, 0.25, 10))


def test_a_phase_of_which_nothing_is_known_is_left_out() -> None:
    assert added([use("agent", 0), use("grade", 1)]) == (use("grade", 1),)
    assert added([use("agent", 0, 2.0)]) == (use("agent", 0, 2.0),)


async def test_nothing_was_used_without_a_sandbox() -> None:
    meter = Meter()
    meter.enter("environment")
    assert await meter.close() == ()


async def test_an_adopted_sandboxs_past_is_the_agents(box: Sandbox, measured: bool) -> None:
    await box.exec(BURN, timeout=20)
    before, meter = await box.usage(), Meter()
    meter.adopt(box)
    await box.exec("sleep 0.3", timeout=20)
    parts = {part.phase: part for part in await meter.close()}
    assert set(parts) == ({"agent", "grade"} if measured else {"grade"})
    assert 0.3 <= parts["grade"].seconds < 5
    if measured:
        assert before.cpu_seconds is not None
        assert parts["agent"].seconds == 0
        assert parts["agent"].cpu_seconds == pytest.approx(before.cpu_seconds, abs=0.05)
        assert (parts["grade"].cpu_seconds or 0) < 0.3


@pytest.fixture
def cleaned(stage: Any) -> Callable[..., Any]:
    async def of(work: Any, one: Any) -> dict[str, PhaseUse]:
        """The attempt is over; what it used, by phase."""
        stage.runner.ordered(LeaseOrder(held=one.held))
        event = await stage.until(work, AttemptCleaned)
        return {part.phase: part for part in event.use}

    return of


async def test_each_phase_has_what_it_used(
    stage: Any, make_task: MakeTask, cleaned: Callable[..., Any], measured: bool
) -> None:
    stage.values = {"PROCTOR_COMMAND": f"{BURN}; head -c {80 * MIB} /dev/zero | tail -c {80 * MIB} >/dev/null"}
    work = await stage.work(make_task(), "command")
    one = await stage.take(work)
    finished = await stage.until(work, AgentFinished)
    await stage.call(work, Execute(id="x", command="sleep 0.4", timeout=5))
    parts = await cleaned(work, one)
    assert list(parts) == ["environment", "setup", "agent", "collect", "grade"]
    assert parts["agent"].seconds == pytest.approx(finished.seconds, abs=0.5)
    assert 0.4 <= parts["grade"].seconds < 5
    cpu = [part.cpu_seconds for part in parts.values()]
    if not measured:
        assert cpu == [None] * 5
        return
    assert 0.5 < parts["agent"].cpu_seconds < parts["agent"].seconds + 0.1
    assert all(seconds < 0.5 for phase, seconds in zip(parts, cpu, strict=True) if phase != "agent")
    assert parts["setup"].memory_peak_bytes < 80 * MIB <= parts["agent"].memory_peak_bytes < 512 * MIB


async def test_what_an_agent_used_that_was_stopped(
    stage: Any, make_task: MakeTask, cleaned: Callable[..., Any]
) -> None:
    work = await stage.work(make_task({"solution/solve.sh": "#!/bin/bash\nsleep 1000\n"}))
    one = await stage.take(work)
    await stage.until(work, AgentStarted)
    parts = await cleaned(work, one)
    assert list(parts) == ["environment", "setup", "agent"]
    assert parts["agent"].seconds < 10


async def test_what_was_used_before_an_error(stage: Any, make_task: MakeTask, cleaned: Callable[..., Any]) -> None:
    unhealthy = '[environment.healthcheck]\ncommand = "false"\nretries = 1\ninterval_sec = 0.2\n'
    work = await stage.work(make_task(toml=unhealthy))
    one = await stage.take(work)
    assert (await stage.until(work, AttemptErrored)).phase == "setup"
    parts = await cleaned(work, one)
    assert list(parts) == ["environment", "setup"]


async def test_a_separate_verifiers_sandbox_is_part_of_the_grade(
    stage: Any, make_task: MakeTask, cleaned: Callable[..., Any], measured: bool
) -> None:
    files = {"tests/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n"}
    work = await stage.work(make_task(files, toml='[verifier]\nenvironment_mode = "separate"\n'))
    one = await stage.take(work)
    await stage.until(work, AgentFinished)
    spawned = await stage.call(work, Spawn(id="s", step=None))
    await stage.call_sandbox(spawned.sandbox, Execute(id="x", command=f"{BURN}; sleep 1", timeout=20))
    parts = await cleaned(work, one)
    # both sandboxes were there for more than a second
    assert parts["grade"].seconds > 2
    if measured:
        assert parts["grade"].cpu_seconds > 0.5
        assert parts["agent"].cpu_seconds < 0.5


async def test_a_claim_without_a_lease_used_nothing(stage: Any, make_task: MakeTask) -> None:
    stage.granted = False
    work = await stage.work(make_task())
    await stage.take(work)
    assert (await stage.until(work, AttemptCleaned)).use == ()
