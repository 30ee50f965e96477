"""A package is unpacked once, whoever asks at the same moment."""

import asyncio
from pathlib import Path

import pytest
from nats.aio.client import Client

from proctor.contracts.ids import new_id
from proctor.contracts.work import TaskRef
from proctor.objects import Objects
from proctor.service.packages import PackageError, Packages
from proctor.tasks import pack_task, task_digest


@pytest.fixture
def task(tmp_path: Path) -> Path:
    root = tmp_path / "task"
    for folder in ("environment", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "task.toml").write_text(f"[metadata]\nunique = '{new_id()}'\n")
    (root / "instruction.md").write_text("Do it.\n")
    (root / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\n")
    (root / "tests" / "test.sh").write_text("#!/bin/bash\n")
    for number in range(200):
        (root / "tests" / f"case-{number}").write_text("x" * 1000)
    return root


async def _stored(bus: Client, task: Path) -> TaskRef:
    digest = task_digest(task)
    name = await Objects(bus).put(f"task/{digest.removeprefix('sha256:')}", pack_task(task))
    return TaskRef(name="task", digest=digest, package=name)


async def test_workers_of_one_home_unpack_at_once(bus: Client, task: Path, tmp_path: Path) -> None:
    """As several processes would: each knows nothing of what the others have loaded."""
    home, reference = tmp_path / "home", await _stored(bus, task)
    loaded = await asyncio.gather(*(Packages(home, Objects(bus)).load(reference) for _ in range(6)))
    assert [one.name for one in loaded] == ["task"] * 6
    assert [path.name for path in home.iterdir()] == [task_digest(task).removeprefix("sha256:")]


async def test_a_missing_package_is_typed(bus: Client, tmp_path: Path) -> None:
    reference = TaskRef(name="org/gone", digest="sha256:" + "0" * 64, package="task/gone")
    with pytest.raises(PackageError, match="org/gone") as caught:
        await Packages(tmp_path, Objects(bus)).load(reference)
    assert caught.value.kind == "package_missing"


async def test_a_package_of_another_content_is_refused(bus: Client, task: Path, tmp_path: Path) -> None:
    reference = (await _stored(bus, task)).model_copy(update={"digest": "sha256:" + "1" * 64})
    with pytest.raises(PackageError) as caught:
        await Packages(tmp_path / "home", Objects(bus)).load(reference)
    assert caught.value.kind == "package_corrupt"
    assert list((tmp_path / "home").iterdir()) == []
