"""A container that awaits its grade outlives its runner: the next life of the runner takes it up again."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.states import AttemptStatus

WAITING = {AttemptStatus.AWAITING_GRADE, AttemptStatus.GRADE_DISPATCHED}


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(180)
@pytest.mark.parametrize("platform", ["docker"], indirect=True)
async def test_it_is_graded_in_the_epoch_it_was_made_in(core: Any, check_exact: Callable[..., Any]) -> None:
    core.kill("grader")
    run = await core.submit([{"harness": "oracle"}], execution={"max_concurrent_attempts": 3})
    waiting = await core.until_all(run, WAITING, 3)
    before = core.containers()
    core.kill("sandbox_runner")
    core.start("sandbox_runner")
    core.start("grader")
    state = await check_exact(core, run, ["oracle"], 1)
    assert len(before) == 3
    for key in waiting:
        assert state.attempt(key).epoch == 1, (key, state.attempt(key))
        assert state.attempt(key).redispatches == 0
