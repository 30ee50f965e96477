"""What happens in a sandbox before its agent begins a step."""

import asyncio
from pathlib import Path
from typing import Final

from proctor.sandbox_runner.archive import folder_tar
from proctor.sandbox_runner.failure import Failure
from proctor.sandbox_runner.health import wait_healthy
from proctor.sandbox_runner.sandbox.protocol import Sandbox
from proctor.tasks import Task

SETUP_SECONDS: Final = 360.0
SETUP_SCRIPT: Final = "setup.sh"


async def prepare(sandbox: Sandbox, task: Task, number: int) -> None:
    """The environment's health check before all else; then each step's files, setup script and own check."""
    if number == 0:
        await wait_healthy(sandbox, task.config.environment.healthcheck)
    if task.steps:
        step = task.steps[number]
        await _set_up(sandbox, step.name, *_step_files(task.path / "steps" / step.name / "workdir"))
        await wait_healthy(sandbox, step.config.healthcheck)


def _step_files(folder: Path) -> tuple[Path | None, bool]:
    """The folder that is laid over the working directory, and whether it has a setup script."""
    return folder if folder.is_dir() else None, (folder / SETUP_SCRIPT).is_file()


async def _set_up(sandbox: Sandbox, step: str, folder: Path | None, has_script: bool) -> None:
    if folder is not None:
        await sandbox.put(await asyncio.to_thread(folder_tar, folder), sandbox.workdir)
    if not has_script:
        return
    result = await sandbox.exec(f"bash {SETUP_SCRIPT}", timeout=SETUP_SECONDS, max_output=0)
    if result.timed_out:
        raise Failure("setup_timeout", f"{SETUP_SCRIPT} of step {step} took longer than {SETUP_SECONDS:g} s")
    if result.returncode:
        raise Failure("setup_failed", f"{SETUP_SCRIPT} of step {step} exited with {result.returncode}")
