"""How a service process starts, says that it is ready, and stops."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import uvloop

from proctor.service.errors import ProctorError
from proctor.service.logs import configure_logs
from proctor.service.settings import Settings

logger = logging.getLogger(__name__)

HEALTH_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 15.0
PATIENT_SECONDS: Final = 2.0


class Stopped(Exception):
    """A stop came while something was still waited for."""


Serve = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


def run_service(name: str, settings: Settings, serve: Serve) -> None:
    """Run `serve(stop)` until it returns; SIGTERM and SIGINT set `stop`, and so does the death of a supervisor
    (`PROCTOR_SUPERVISED`). Exits 1 when it raises: a `ProctorError` is told in its one line."""
    configure_logs(name, settings.log_level, settings.log_format)
    try:
        uvloop.run(_main(serve))
    except KeyboardInterrupt:
        sys.exit(130)
    except ProctorError as error:
        logger.error("%s", error.message)  # noqa: TRY400 - expected, and said in full
        sys.exit(1)
    except Exception:
        logger.exception("%s stopped by an error", name)
        sys.exit(1)


async def _main(serve: Serve) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    watch = asyncio.create_task(_stop_with_parent(stop)) if os.environ.get("PROCTOR_SUPERVISED") else None
    serving = asyncio.create_task(serve(stop))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        done, _ = await asyncio.wait([serving], timeout=GRACE_SECONDS)
        if not done:
            logger.warning("did not stop by itself within %.0f s", GRACE_SECONDS)
            serving.cancel()
            await asyncio.wait([serving], timeout=1)
        if serving.done() and not serving.cancelled():
            _raise_unless_stopped(serving)
    finally:
        stopped.cancel()
        if watch:
            watch.cancel()


def _raise_unless_stopped(serving: asyncio.Task[None]) -> None:
    with contextlib.suppress(Stopped):
        serving.result()


async def unless_stopped[T](stop: asyncio.Event, coming: Coroutine[Any, Any, T], waiting_for: str) -> T:
    """The result of what may take for ever, such as a first connection; `Stopped` when `stop` comes before it.
    Says once in the log what is waited for."""
    task, stopped = asyncio.create_task(coming), asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([task, stopped], timeout=PATIENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            logger.warning("waiting for %s", waiting_for)
            await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Stopped
        return task.result()
    finally:
        task.cancel()
        stopped.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


async def _stop_with_parent(stop: asyncio.Event) -> None:
    """A supervisor killed outright leaves no orphans: its children see their parent change."""
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(1)
    stop.set()


async def run_until(stop: asyncio.Event, *jobs: Coroutine[Any, Any, Any]) -> None:
    """Run jobs side by side until `stop`, or until one ends or raises, which ends all and is raised."""
    tasks = [asyncio.create_task(job) for job in jobs]
    waiter = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([*tasks, waiter], return_when=asyncio.FIRST_COMPLETED)
        for task in done - {waiter}:
            task.result()
    finally:
        for task in [*tasks, waiter]:
            task.cancel()
        await asyncio.gather(*tasks, waiter, return_exceptions=True)


async def report_health(settings: Settings, healthy: Callable[[], Awaitable[bool]]) -> None:
    """Touch the ready file for as long as the service is healthy; its age is the health check."""
    path = settings.ready_file
    if path is None:
        await asyncio.Event().wait()
        return
    while True:
        if await healthy():
            _touch(path)
        await asyncio.sleep(HEALTH_SECONDS)


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
