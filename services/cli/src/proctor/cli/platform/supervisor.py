"""Keeps programs running: starts them, waits until they are ready, starts them again when they die, stops them."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home
from proctor.cli.platform.last_words import last_words
from proctor.cli.platform.program import Program, spawn, stop
from proctor.cli.platform.restarts import Deaths

POLL_SECONDS: Final = 0.03
STOP_SECONDS: Final = 8.0


class Status(StrEnum):
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    GIVEN_UP = "given up"
    STOPPED = "stopped"


@dataclass
class Child:
    program: Program
    log: Path
    status: Status = Status.STARTING
    process: asyncio.subprocess.Process | None = None
    deaths: Deaths = field(default_factory=Deaths)
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
            child = self.children[program.name] = Child(program, self._home.log(program.name))
            self._tell(child)
            self._tasks[program.name] = asyncio.create_task(self._keep(child))

    async def ready(self, names: Iterable[str], patience: float) -> None:
        """Wait until these are ready. Raises Failure naming the first that can't start or takes too long."""
        waiting = [self.children[name] for name in names]
        deadline = time.monotonic() + patience
        while late := [child for child in waiting if child.status is not Status.READY]:
            for child in late:
                if child.status is Status.GIVEN_UP:
                    raise self._failure(child, f"doesn't start ({child.reason})")
            if time.monotonic() > deadline:
                raise self._failure(late[0], f"isn't ready after {patience:.0f} s")
            await asyncio.sleep(POLL_SECONDS)

    @staticmethod
    def _failure(child: Child, problem: str) -> Failure:
        words = last_words(child.log)
        why = f": {words[-1]}" if words else ""
        details = words if len(words) > 1 else ()
        return Failure(f"{child.program.name} {problem}{why}; its log is {child.log}", details=details)

    async def _keep(self, child: Child) -> None:
        while True:
            await self._live(child)
            self._change(child, Status.GIVEN_UP if child.deaths.hopeless else Status.RESTARTING)
            if child.deaths.hopeless:
                return
            await asyncio.sleep(child.deaths.delay)

    async def _live(self, child: Child) -> None:
        """One life, from birth to death."""
        born, code, was_ready = time.monotonic(), None, False
        try:
            child.process = await spawn(child.program, self._home)
        except OSError as error:
            child.reason = str(error)
        else:
            watch = asyncio.create_task(self._watch(child))
            code = await child.process.wait()
            was_ready = not watch.cancel()
            child.reason = f"exit code {code}" if code >= 0 else f"signal {-code}"
        child.deaths = child.deaths.and_one(time.monotonic() - born, code, was_ready=was_ready)

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
