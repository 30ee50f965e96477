from pathlib import Path

import pytest

from proctor.cli.failure import Failure
from proctor.cli.packing import pack, skipped
from proctor.tasks import load_dataset


def task(folder: Path, config: str = 'version = "1.0"\n') -> None:
    (folder / "tests").mkdir(parents=True)
    (folder / "environment").mkdir()
    (folder / "task.toml").write_text(config)
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "tests" / "test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    (folder / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\n")


def test_folders_beside_tasks_that_are_none_are_named(tmp_path: Path) -> None:
    task(tmp_path / "good")
    task(tmp_path / "group" / "deep")
    for name in ("forgotten", "group/notes", ".git", "good/extra"):
        (tmp_path / name).mkdir()
    assert skipped(tmp_path, load_dataset(tmp_path)) == ["forgotten", "group/notes"]


def test_a_reason_that_names_its_task_is_not_named_twice(tmp_path: Path) -> None:
    task(tmp_path / "e1", "version = ")
    with pytest.raises(Failure) as caught:
        pack(tmp_path)
    (reason,) = caught.value.details
    assert reason.startswith("e1: ")
    assert "e1: e1:" not in reason


def test_a_folder_without_tasks_is_named_once(tmp_path: Path) -> None:
    folder = tmp_path / "e1"
    folder.mkdir()
    with pytest.raises(Failure) as caught:
        pack(folder)
    assert caught.value.message == f"{folder}: no folder with a task.toml here or below"
