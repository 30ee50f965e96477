"""A task's health check, with Docker's polling semantics."""

import asyncio
import time

from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import HealthcheckConfig


async def wait_healthy(sandbox: Sandbox, check: HealthcheckConfig | None) -> None:
    """Failures within `start_period_sec` don't count; after that `retries` in a row are the end."""
    if check is None:
        return
    start, failures = time.monotonic(), 0
    while True:
        result = await sandbox.exec(check.command, timeout=check.timeout_sec, max_output=0)
        if result.returncode == 0:
            return
        starting = time.monotonic() - start < check.start_period_sec
        failures += not starting
        if failures >= max(1, check.retries):
            ending = "timed out" if result.timed_out else f"exited with {result.returncode}"
            raise Failure("healthcheck_failed", f"the task's health check {ending}, {failures} times in a row")
        await asyncio.sleep(check.start_interval_sec if starting else check.interval_sec)
