"""Keeps programs running: starts them, waits until they are ready, starts them again when they die, stops them."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home
from proctor.cli.platform.last_words import last_words
from proctor.cli.platform.program import Program, spawn, stop
from proctor.cli.platform.restarts import restart_delay

POLL_SECONDS: Final = 0.03
STOP_SECONDS: Final = 8.0
START_DEATHS: Final = 3
"""A program that died so often before it was ready won't start; one that ran before gets more patience."""


class Status(StrEnum):
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    GIVEN_UP = "given up"
    STOPPED = "stopped"


@dataclass
class Child:
    program: Program
    status: Status = Status.STARTING
    process: asyncio.subprocess.Process | None = None
    lives: list[float] = field(default_factory=list[float])
    reason: str = ""


class Supervisor:
    """`tell(child)` is called at every change of a child's status."""

    def __init__(self, home: Home, tell: Callable[[Child], None]) -> None:
        self._home = home
        self._tell = tell
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.children: dict[str, Child] = {}

    def start(self, programs: Iterable[Program]) -> None:
        for program in programs:
            child = self.children[program.name] = Child(program)
            self._tell(child)
            self._tasks[program.name] = asyncio.create_task(self._keep(child))

    async def ready(self, names: Iterable[str], patience: float) -> None:
        """Wait until these are ready. Raises Failure naming the first that keeps dying or takes too long."""
        waiting = [self.children[name] for name in names]
        deadline = time.monotonic() + patience
        while late := [child for child in waiting if child.status is not Status.READY]:
            for child in late:
                if child.status is Status.GIVEN_UP or len(child.lives) >= START_DEATHS:
                    raise self._failure(child, f"doesn't start ({child.reason})")
            if time.monotonic() > deadline:
                raise self._failure(late[0], f"isn't ready after {patience:.0f} s")
            await asyncio.sleep(POLL_SECONDS)

    def _failure(self, child: Child, problem: str) -> Failure:
        log = self._home.log(child.program.name)
        return Failure(f"{child.program.name} {problem}; its log is {log}", details=last_words(log))

    async def _keep(self, child: Child) -> None:
        while True:
            born = time.monotonic()
            try:
                child.process = await spawn(child.program, self._home)
            except OSError as error:
                child.reason = str(error)
                self._change(child, Status.GIVEN_UP)
                return
            watch = asyncio.create_task(self._watch(child))
            code = await child.process.wait()
            watch.cancel()
            child.lives.append(time.monotonic() - born)
            child.reason = f"exit code {code}" if code >= 0 else f"signal {-code}"
            delay = restart_delay(child.lives)
            self._change(child, Status.GIVEN_UP if delay is None else Status.RESTARTING)
            if delay is None:
                return
            await asyncio.sleep(delay)

    async def _watch(self, child: Child) -> None:
        while not await child.program.ready():
            await asyncio.sleep(POLL_SECONDS)
        self._change(child, Status.READY)

    def _change(self, child: Child, status: Status) -> None:
        child.status = status
        self._tell(child)

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Tier by tier, from the highest; within one all at once. Nothing of ours is left when it returns."""
        tiers = sorted({child.program.tier for child in self.children.values()}, reverse=True)
        for tier in tiers:
            members = [child for child in self.children.values() if child.program.tier == tier]
            await asyncio.gather(*(self._stop(child, grace) for child in members))

    async def _stop(self, child: Child, grace: float) -> None:
        task = self._tasks[child.program.name]
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        if child.process is not None:
            await stop(child.process, child.program.stop_signal, grace)
        self._home.pid(child.program.name).unlink(missing_ok=True)
        self._home.ready(child.program.name).unlink(missing_ok=True)
        self._change(child, Status.STOPPED)
