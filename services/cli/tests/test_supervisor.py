import asyncio
import io
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from proctor.cli.display.status import StatusView
from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home, open_home
from proctor.cli.platform.program import Program, end_leftovers
from proctor.cli.platform.supervisor import Child, Status, Supervisor

READY = "import os, pathlib, time; pathlib.Path(os.environ['READY']).touch();"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


@pytest.fixture
def told() -> list[tuple[str, Status]]:
    return []


@pytest.fixture
async def supervisor(home: Home, told: list[tuple[str, Status]]) -> AsyncIterator[Supervisor]:
    def tell(child: Child) -> None:
        told.append((child.program.name, child.status))

    supervisor = Supervisor(home, tell)
    yield supervisor
    await supervisor.stop(grace=1)


def program(home: Home, name: str, code: str, tier: int = 0) -> Program:
    ready_file = home.ready(name)

    async def ready() -> bool:
        return ready_file.exists()

    return Program(name, (sys.executable, "-c", code), {"READY": str(ready_file)}, ready, tier)


async def test_ready_is_what_the_program_says(home: Home, supervisor: Supervisor) -> None:
    supervisor.start([program(home, "a", READY + "time.sleep(60)")])
    assert supervisor.children["a"].status is Status.STARTING
    await supervisor.ready(["a"], 10)
    assert supervisor.children["a"].status is Status.READY


async def test_a_program_that_dies_is_started_again(
    home: Home, supervisor: Supervisor, until_async: Callable[[Callable[[], bool]], Any]
) -> None:
    supervisor.start([program(home, "a", READY + "time.sleep(60)")])
    await supervisor.ready(["a"], 10)
    child = supervisor.children["a"]
    assert child.process is not None
    first = child.process.pid
    os.kill(first, signal.SIGKILL)
    await until_async(lambda: child.status is Status.RESTARTING)
    assert child.reason == "signal 9"
    await supervisor.ready(["a"], 10)
    assert child.process.pid != first


async def test_a_program_that_never_starts_is_given_up_after_ten_tries_with_its_last_words(
    home: Home, supervisor: Supervisor, told: list[tuple[str, Status]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.cli.platform.restarts.DELAYS", (0.01,))
    supervisor.start([program(home, "broken", "raise SystemExit('the disk is on fire')")])
    with pytest.raises(
        Failure, match=r"broken doesn't start \(exit code 1\): the disk is on fire; its log is"
    ) as caught:
        await supervisor.ready(["broken"], 20)
    assert str(home.log("broken")) in caught.value.message
    assert told.count(("broken", Status.RESTARTING)) == 9
    assert home.log("broken").read_text().count("on fire") == 10


async def test_a_program_killed_again_and_again_before_it_is_ready_gets_its_chance(
    home: Home, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.cli.platform.restarts.DELAYS", (0.01,))
    lives = home.root / "lives"
    code = (
        f"import os, pathlib; lives = pathlib.Path({str(lives)!r}).open('a+'); lives.write('x'); lives.flush();"
        "os.kill(os.getpid(), 9) if lives.tell() < 15 else None;"
    )
    supervisor.start([program(home, "shot", code + READY + "time.sleep(60)")])
    await supervisor.ready(["shot"], 20)
    assert lives.read_text() == "x" * 15


async def test_a_restart_says_how_often_why_and_where_to_look(
    home: Home, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.cli.platform.restarts.DELAYS", (60.0,))
    supervisor.start([program(home, "a", READY + "time.sleep(60)")])
    await supervisor.ready(["a"], 10)
    child, file = supervisor.children["a"], io.StringIO()
    assert child.process is not None
    child.process.kill()
    async with asyncio.timeout(10):
        while child.status is not Status.RESTARTING:
            await asyncio.sleep(0.02)
    StatusView(Console(file=file, width=40)).tell(child)
    assert f"restarting (1), last: signal 9, see {home.log('a')}\n" in file.getvalue()


async def test_a_program_that_cannot_be_run_is_given_up_at_once(home: Home, supervisor: Supervisor) -> None:
    async def never() -> bool:
        return False

    supervisor.start([Program("gone", (str(home.root / "nothing"),), {}, never, 0)])
    with pytest.raises(Failure, match=r"gone doesn't start .*No such file"):
        await supervisor.ready(["gone"], 10)


async def test_a_program_that_is_never_ready_ends_the_wait(home: Home, supervisor: Supervisor) -> None:
    supervisor.start([program(home, "slow", "import time; time.sleep(60)")])
    with pytest.raises(Failure, match=r"slow isn't ready after 0 s"):
        await supervisor.ready(["slow"], 0.2)


async def test_higher_tiers_stop_before_lower_ones(
    home: Home, supervisor: Supervisor, told: list[tuple[str, Status]]
) -> None:
    names = {"database": 0, "service": 1, "door": 2}
    supervisor.start([program(home, name, READY + "time.sleep(60)", tier) for name, tier in names.items()])
    await supervisor.ready(names, 10)
    await supervisor.stop()
    assert [name for name, status in told if status is Status.STOPPED] == ["door", "service", "database"]


async def test_a_program_that_ignores_the_signal_is_killed_with_its_children(
    home: Home, supervisor: Supervisor, processes_with: Callable[[str], list[psutil.Process]]
) -> None:
    mark = f"mark-{home.root}"
    stubborn = (
        f"import signal, subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"subprocess.Popen(['sleep', '60'] and ['bash', '-c', 'sleep 60; : {mark}']);" + READY + "time.sleep(60)"
    )
    supervisor.start([program(home, "stubborn", stubborn)])
    await supervisor.ready(["stubborn"], 10)
    began = time.monotonic()
    await supervisor.stop(grace=0.3)
    assert time.monotonic() - began < 3
    await asyncio.sleep(0.1)
    assert processes_with(mark) == []


async def test_only_what_this_home_recorded_is_a_leftover(home: Home) -> None:
    ours = await asyncio.create_subprocess_exec("sleep", "60")
    other = await asyncio.create_subprocess_exec("sleep", "60")
    home.pid("ours").write_text(f"{ours.pid} {psutil.Process(ours.pid).create_time()}")
    home.pid("reused").write_text(f"{other.pid} {psutil.Process(other.pid).create_time() - 5}")
    waiting = asyncio.create_task(ours.wait())
    assert await asyncio.to_thread(end_leftovers, home) == ["ours"]
    await waiting
    assert not psutil.pid_exists(ours.pid)
    assert other.returncode is None
    other.kill()
    await other.wait()
