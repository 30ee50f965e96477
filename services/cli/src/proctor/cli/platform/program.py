"""One child process: how it is started so that it never outlives us, and how what an earlier one left is ended."""

import asyncio
import ctypes
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from proctor.cli.platform.home import Home

_PR_SET_PDEATHSIG: Final = 1
_LARGEST_LOG: Final = 16 * 1024 * 1024
_libc: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Program:
    """`ready` is asked with the process's age until it says yes. Higher tiers are stopped first."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    ready: Callable[[], Awaitable[bool]]
    tier: int
    stop_signal: signal.Signals = signal.SIGTERM


async def spawn(program: Program, home: Home) -> asyncio.subprocess.Process:
    """In a session of its own, so that Ctrl-C reaches the supervisor alone, and with a death signal from the kernel,
    so that a supervisor killed outright takes it along."""
    log = home.log(program.name)
    if log.exists() and log.stat().st_size > _LARGEST_LOG:
        log.replace(log.with_suffix(".log.1"))
    home.ready(program.name).unlink(missing_ok=True)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            env={**os.environ, **program.env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=partial(_die_with_parent, os.getpid(), program.stop_signal),
        )
    _record(home.pid(program.name), process.pid)
    return process


def _die_with_parent(parent: int, number: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def _record(path: Path, pid: int) -> None:
    try:
        path.write_text(f"{pid} {psutil.Process(pid).create_time()}")
    except psutil.NoSuchProcess:
        path.unlink(missing_ok=True)


async def stop(process: asyncio.subprocess.Process, number: int, grace: float) -> bool:
    """Whether it ended in time; if not, it and its group are killed."""
    if process.returncode is not None:
        return True
    process.send_signal(number)
    try:
        await asyncio.wait_for(process.wait(), grace)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        return False
    return True


def end_leftovers(home: Home, grace: float = 3) -> list[str]:
    """End what an earlier supervisor of this home left running: only the very processes it recorded. Returns names."""
    found = {path.stem: process for path in home.run.glob("*.pid") if (process := _recorded(path))}
    for process in found.values():
        process.terminate()
    _, alive = psutil.wait_procs(list(found.values()), grace)
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, 5)
    for path in home.run.glob("*.pid"):
        path.unlink(missing_ok=True)
    return sorted(found)


def _recorded(path: Path) -> psutil.Process | None:
    try:
        pid, created = path.read_text().split()
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(created)) < 0.05 and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.Error):
        return None
    return process if same else None
