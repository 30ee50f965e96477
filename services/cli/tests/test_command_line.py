import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest


def proctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PROCTOR_")}
    argv = [sys.executable, "-m", "proctor.cli.main", *arguments]
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**clean, **environment},
        timeout=60,
        check=False,
    )


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
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"proctor: no platform runs in {tmp_path}: start one with `")
    assert f"proctor up --home {tmp_path}`" in line
    assert "Traceback" in proctor("--debug", "benchmark", "list", PROCTOR_HOME=str(tmp_path)).stderr
    assert "Traceback" in proctor("--home", str(tmp_path), "benchmark", "list", "--debug").stderr


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


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("runner --backend nope", "'--backend': 'nope' is not one of 'auto', 'docker', 'bubblewrap'"),
        ("up --port 70000", "'--port': must be at most 65535"),
        ("up --nats-port x", "'--nats-port': must be a whole number"),
        ("run logs r --level loud", "is not one of 'debug', 'info', 'warning', 'error'"),
        ("run results r --outcome won", "is not one of 'passed', 'failed', 'errored', 'cancelled'"),
        ("runer", "No such command 'runer'"),
        ("runner --nats example.org:4222", "neither an address nor a file"),
        ("run list --workspace", "'--workspace' requires an argument"),
        ("benchmark remove b", "benchmark remove without a terminal needs --yes"),
        ("run compare r", "name 2 to 8 runs, the baseline first: there is 1"),
        ("run compare r s --agent 0", "--agent is needed once for each of the 2 runs, in their order: there is 1"),
        ("workspace set-role w u", "say one role"),
        ("workspace set-role w u admin --role owner", "say one role"),
        ("workspace budget w --run-usd 0", "--run-usd 0: must be more than 0; `none` is no limit"),
        ("workspace budget w --month-attempts 2.5", "'2.5': must be a whole number or `none`"),
        ("secret set X", "no value came on stdin"),
    ],
)
def test_a_mistyped_command_line_is_one_line(command: str, said: str) -> None:
    done = proctor(*command.split())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("proctor: ")
    assert said in line
    assert "Value error" not in line


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_setting_that_no_service_takes_starts_nothing(command: str, tmp_path: Path) -> None:
    done = proctor(command, "--home", str(tmp_path / "home"), PROCTOR_LOG_LEVEL="nope")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "PROCTOR_LOG_LEVEL is 'nope'" in line
    assert list(tmp_path.iterdir()) == []


def test_an_up_that_finds_its_port_taken_makes_no_home(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = proctor("up", "--home", str(tmp_path / "home"), "--port", str(taken.getsockname()[1]))
    assert "is in use" in done.stderr
    assert list(tmp_path.iterdir()) == []
