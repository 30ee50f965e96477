"""A run on the shipped benchmark, on both back ends, by real services."""

from collections.abc import Callable
from typing import Any

import pytest

AGENTS = [{"harness": "oracle"}, {"harness": "nop"}]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("platform", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)], indirect=True)
async def test_the_oracle_passes_and_doing_nothing_fails(core: Any, check_exact: Callable[..., Any]) -> None:
    run = await core.submit(AGENTS)
    state = await check_exact(core, run, ["oracle", "nop"], 1)
    backends = {attempt.sandbox for attempt in state.attempts.values()}
    assert len(backends) == state.expected


@pytest.mark.timeout(150)
async def test_two_runners_share_a_run(core: Any, check_exact: Callable[..., Any]) -> None:
    core.start("sandbox_runner", "second", runner_name="runner-2", home=str(core.home / "elsewhere"))
    run = await core.submit(AGENTS, execution={"attempts_per_task": 2, "max_concurrent_attempts": 8})
    state = await check_exact(core, run, ["oracle", "nop"], 2)
    assert len({attempt.worker for attempt in state.attempts.values()}) == 2
