"""Tasks on disk and work items for them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts.messages import LeaseAnswer, LeaseRequest
from proctor.contracts.work import GradeWork
from proctor.grader.grader import Grader
from proctor.grader.settings import GraderSettings
from proctor.objects import Objects
from proctor.service.identity import claim_identity
from proctor.service.packages import Packages
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


class Scheduler:
    """Grants leases, or doesn't."""

    def __init__(self) -> None:
        self.granted, self.asked = True, list[LeaseRequest]()

    async def respond(self, message: Msg) -> None:
        self.asked.append(LeaseRequest.model_validate_json(message.data))
        await message.respond(LeaseAnswer(granted=self.granted, reason="no").model_dump_json().encode())


@pytest.fixture
async def scheduler(bus: Client) -> AsyncIterator[Scheduler]:
    answering = Scheduler()
    subscription = await bus.subscribe("lease.start.*", cb=answering.respond)
    yield answering
    await subscription.unsubscribe()


@pytest.fixture
async def grader(bus: Client, tmp_path: Path, scheduler: Scheduler, workspace: str) -> AsyncIterator[Grader]:
    settings = GraderSettings(home=tmp_path / "home", grader_capacity=2, grader_name=f"g-{workspace}")
    identity = claim_identity(settings.home, "grader", settings.grader_name, "box")
    objects = Objects(bus)
    made = Grader(identity, settings, bus, objects, Packages(tmp_path / "packages", objects))
    yield made
    await made.stop()
