"""Ctrl-C and SIGTERM: the first ends what runs in order, a second at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any


def run_until_signal(main: Callable[[], Coroutine[Any, Any, int]], interrupted: int = 0) -> int:
    """The exit code of `main`, or `interrupted` when a signal ended it. After a second signal nothing is waited for:
    children get their death signals from the kernel."""
    return asyncio.run(_run(main, interrupted))


async def _run(main: Callable[[], Coroutine[Any, Any, int]], interrupted: int) -> int:
    task = asyncio.create_task(main())
    asked = False

    def on_signal() -> None:
        nonlocal asked
        if asked:
            os._exit(130)
        asked = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
    try:
        return await task
    except asyncio.CancelledError:
        return interrupted
