"""Docker's rules: failures while it starts don't count, after that some in a row are the end."""

import time

import pytest

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.health import wait_healthy
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import HealthcheckConfig

COUNT = "echo >>/app/checks; "


def check(command: str, **settings: float) -> HealthcheckConfig:
    quick = {"interval_sec": 0.01, "start_interval_sec": 0.01, "timeout_sec": 5}
    return HealthcheckConfig.model_validate({"command": COUNT + command, **quick, **settings})


async def checks(box: Sandbox) -> int:
    found = await box.read("/app/checks", 1 << 16)
    return len((found or b"").splitlines())


async def test_none_is_healthy(box: Sandbox) -> None:
    await wait_healthy(box, None)
    assert await checks(box) == 0


async def test_the_first_success_is_enough(box: Sandbox) -> None:
    await wait_healthy(box, check("true", start_period_sec=60))
    assert await checks(box) == 1


@pytest.mark.parametrize(("retries", "tried"), [(3, 3), (1, 1), (0, 1)])
async def test_as_many_failures_as_retries_are_the_end(box: Sandbox, retries: int, tried: int) -> None:
    with pytest.raises(Failure) as failure:
        await wait_healthy(box, check("exit 9", retries=retries))
    assert failure.value.kind == "healthcheck_failed"
    assert "exited with 9" in failure.value.message
    assert await checks(box) == tried


async def test_it_may_recover_before_the_last(box: Sandbox) -> None:
    await wait_healthy(box, check("(( $(wc -l </app/checks) == 3 ))", retries=3))
    assert await checks(box) == 3


async def test_failures_while_it_starts_do_not_count(box: Sandbox) -> None:
    began = time.monotonic()
    with pytest.raises(Failure):
        await wait_healthy(box, check("false", retries=2, start_period_sec=0.4))
    assert time.monotonic() - began >= 0.4
    assert await checks(box) > 2


async def test_a_check_that_hangs_has_failed_and_is_dead(box: Sandbox) -> None:
    with pytest.raises(Failure, match="timed out"):
        await wait_healthy(box, check("sleep 1000", retries=1, timeout_sec=0.2))
    alive = await box.exec("pgrep -x sleep || true", timeout=5)
    assert alive.stdout == b""
