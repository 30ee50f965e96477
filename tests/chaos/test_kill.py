"""kill -9 in mid-run: the run finishes with exactly the expected results, and nothing is left."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

AGENTS = [{"harness": "oracle"}, {"harness": "nop"}]
NAMES = ["oracle", "nop"]
BACKENDS = pytest.mark.parametrize(
    "platform",
    ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
)


@BACKENDS
@pytest.mark.parametrize("service", ["sandbox_runner", "grader", "scheduler", "registry_sync"])
async def test_a_killed_service_is_started_again(core: Any, service: str, check_exact: Callable[..., Any]) -> None:
    run = await core.submit(AGENTS, execution={"attempts_per_task": 2})
    await core.graded(run, 7)
    core.kill(service)
    await asyncio.sleep(1)
    core.start(service)
    await check_exact(core, run, NAMES, 2)


@BACKENDS
async def test_a_killed_runner_stays_dead_and_another_takes_over(core: Any, check_exact: Callable[..., Any]) -> None:
    """Its sandboxes are swept by the other: they share the engine."""
    run = await core.submit(AGENTS, execution={"attempts_per_task": 1})
    await core.graded(run, 5)
    core.kill("sandbox_runner")
    core.start("sandbox_runner", "second", runner_name="runner-2")
    state = await core.ended(run)
    assert state.status == "finished"
    await check_exact(core, run, NAMES, 1)


@BACKENDS
async def test_a_frozen_runner_wakes_up_to_find_its_epochs_over(core: Any, check_exact: Callable[..., Any]) -> None:
    core.start("sandbox_runner", "second", runner_name="runner-2")
    run = await core.submit(AGENTS, execution={"attempts_per_task": 2})
    await core.graded(run, 5)
    core.signal("sandbox_runner", signal.SIGSTOP)
    await asyncio.sleep(40)
    core.signal("sandbox_runner", signal.SIGCONT)
    await check_exact(core, run, NAMES, 2)


@BACKENDS
async def test_the_bus_is_killed_and_comes_back(core: Any, check_exact: Callable[..., Any]) -> None:
    run = await core.submit(AGENTS, execution={"attempts_per_task": 2})
    await core.graded(run, 7)
    core.nats.kill()
    await asyncio.sleep(4)
    core.nats.start()
    await check_exact(core, run, NAMES, 2)


@BACKENDS
async def test_everything_is_killed_at_once(core: Any, check_exact: Callable[..., Any]) -> None:
    run = await core.submit(AGENTS, execution={"attempts_per_task": 2})
    await core.graded(run, 7)
    services = list(core.processes)
    for service in services:
        core.kill(service)
    core.nats.kill()
    core.nats.start()
    for service in services:
        core.start(service)
    await check_exact(core, run, NAMES, 2)


@BACKENDS
async def test_a_stopped_run_leaves_nothing(core: Any) -> None:
    run = await core.submit([{"harness": "oracle"}], execution={"attempts_per_task": 20})
    await core.graded(run, 4)
    await core.ask_stop(run)
    state = await core.cleaned(run, 60)
    assert state.status == "stopped"
    assert sum(state.tally.values()) == state.expected
    assert state.tally["passed"] >= 4
    assert await asyncio.to_thread(core.left) == []
