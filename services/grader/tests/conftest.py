"""Tasks on disk and work items for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.contracts.work import GradeWork
from proctor.tasks import Task, load_task, task_digest

LEAST = {
    "task.toml": "[verifier]\ntimeout_sec = 30\n",
    "instruction.md": "Say hello.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Task]:
    """The least task there is, with other files. `steps` makes it one of several steps, by their TOML."""

    def make(files: dict[str, str] | None = None, *, steps: tuple[str, ...] = (), strategy: str = "mean") -> Task:
        root = tmp_path / "hello"
        content = {**LEAST, **(files or {})}
        if steps:
            del content["instruction.md"]
            tables = [f'[[steps]]\nname = "s{number}"\n{toml}\n' for number, toml in enumerate(steps)]
            content["task.toml"] = "\n".join([f'multi_step_reward_strategy = "{strategy}"', *tables])
            for number in range(len(steps)):
                content[f"steps/s{number}/instruction.md"] = "Go on.\n"
        for path, text in content.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return load_task(root)

    return make


@pytest.fixture
def make_work(workspace: str) -> Callable[..., GradeWork]:
    def make(task: Task | None = None, **changes: Any) -> GradeWork:
        digest = task_digest(task.path) if task else "sha256:0"
        usual = {
            "workspace": workspace,
            "run": f"run-{workspace}",
            "attempt": "0-0-1",
            "epoch": 1,
            "round": 1,
            "sandbox": f"s-{workspace}",
            "runner": "runner-1",
            "task": {"name": "hello", "digest": digest, "package": f"task/{digest.removeprefix('sha256:')}"},
            "timeout_multiplier": 2.0,
            "threshold": "1.0",
        }
        return GradeWork.model_validate({**usual, **changes})

    return make
