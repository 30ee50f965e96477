import os
import subprocess
import sys
from pathlib import Path

import pytest


def proctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PROCTOR_")}
    argv = [sys.executable, "-m", "proctor.cli.main", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, env={**clean, **environment}, timeout=60, check=False)


def test_version() -> None:
    assert proctor("--version").stdout.startswith("proctor 0.")


@pytest.mark.parametrize(
    "command",
    ["demo", "up", "runner", "rebuild", "doctor", "leaderboard", "benchmark add", "run submit", "run logs"],
)
def test_every_command_has_help(command: str) -> None:
    done = proctor(*command.split(), "--help", COLUMNS="100")
    assert done.returncode == 0
    assert f"{command} [OPTIONS]" in done.stdout


def test_an_error_is_one_line_and_its_traceback_is_there_on_demand(tmp_path: Path) -> None:
    done = proctor("benchmark", "list", PROCTOR_HOME=str(tmp_path))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"proctor: no platform runs in {tmp_path}: start one with `proctor up --home {tmp_path}`")
    assert "Traceback" in proctor("--debug", "benchmark", "list", PROCTOR_HOME=str(tmp_path)).stderr


def test_a_folder_without_tasks_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    done = proctor("benchmark", "add", str(tmp_path), PROCTOR_URL="http://127.0.0.1:9", PROCTOR_TOKEN="x")
    assert done.returncode == 1
    assert "no folder with a task.toml" in done.stderr


def test_up_says_in_one_line_why_it_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = proctor("up", "--home", str(tmp_path / "file" / "home"))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "can't write to" in done.stderr
