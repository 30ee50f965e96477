"""How a service process stops, in processes of their own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proctor.service.process import report_health, run_until
from proctor.service.settings import Settings

SERVICE = """
import asyncio, sys
from pathlib import Path
from proctor.service.process import run_service, run_until
from proctor.service.settings import Settings

async def forever():
    Path(sys.argv[1]).write_text("up")
    try:
        await asyncio.Event().wait()
    finally:
        Path(sys.argv[1]).write_text("down")

async def serve(stop):
    if sys.argv[2] == "raise":
        raise RuntimeError("the reason")
    if sys.argv[2] == "end":
        return
    await run_until(stop, forever())

run_service("toy", Settings(log_format=sys.argv[3]), serve)
"""


def start(state: Path, how: str = "serve", form: str = "json", **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SERVICE, str(state), how, form]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **environment})


def wait_for(path: Path, text: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not (path.exists() and path.read_text() == text):
        assert time.monotonic() < deadline, f"{path} isn't {text}"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_service_in_order(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path / "state")
    wait_for(tmp_path / "state", "up")
    process.send_signal(number)
    assert process.wait(15) == 0
    assert (tmp_path / "state").read_text() == "down", "its jobs were ended, not dropped"


@pytest.mark.parametrize(("how", "code"), [("raise", 1), ("end", 0)])
@pytest.mark.parametrize("form", ["json", "text"])
def test_the_exit_code_and_the_log_say_how_it_ended(tmp_path: Path, how: str, code: int, form: str) -> None:
    process = start(tmp_path / "state", how, form)
    _, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert (b"the reason" in said) is (how == "raise")
    assert (b'"service": "toy"' in said) is (how == "raise" and form == "json")


def test_a_supervised_service_goes_with_its_supervisor(tmp_path: Path) -> None:
    """The supervisor is killed outright: nobody is left to tell its child."""
    state = tmp_path / "state"
    script = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"
    command = [sys.executable, "-c", script, sys.executable, "-c", SERVICE, str(state), "serve", "json"]
    supervisor = subprocess.Popen(command, env={**os.environ, "PROCTOR_SUPERVISED": "1"}, stderr=subprocess.DEVNULL)
    wait_for(state, "up")
    supervisor.kill()
    supervisor.wait()
    wait_for(state, "down")


async def test_one_job_that_ends_ends_all() -> None:
    ended: list[str] = []

    async def waiting(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def failing() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("the reason")

    with pytest.raises(RuntimeError, match="the reason"):
        await run_until(asyncio.Event(), waiting("a"), failing(), waiting("b"))
    assert sorted(ended) == ["a", "b"]
    stop = asyncio.Event()
    stop.set()
    await run_until(stop, waiting("c"))
    assert ended[-1] == "c"


async def test_the_ready_file_is_as_old_as_the_last_good_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.service.process.HEALTH_SECONDS", 0.02)
    path, healthy = tmp_path / "deep" / "ready", [True]

    async def ask() -> bool:
        return healthy[0]

    job = asyncio.create_task(report_health(Settings(ready_file=path), ask))
    await asyncio.sleep(0.2)
    assert path.exists()
    os.utime(path, (0, 0))
    await asyncio.sleep(0.2)
    assert path.stat().st_mtime > 0, "it is touched again and again"
    healthy[0] = False
    await asyncio.sleep(0.1)
    os.utime(path, (0, 0))
    await asyncio.sleep(0.2)
    assert path.stat().st_mtime == 0
    job.cancel()


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    monkeypatch.setenv("PROCTOR_LOG_LEVEL", "debug")
    settings = Settings()
    assert (settings.home, settings.log_level) == (tmp_path, "debug")
    monkeypatch.setenv("PROCTOR_LOG_LEVEL", "loud")
    with pytest.raises(ValueError, match="log_level"):
        Settings()
