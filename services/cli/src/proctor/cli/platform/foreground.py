"""The platform in the foreground, until a signal."""

import asyncio
import contextlib
from pathlib import Path

from proctor.cli.display.status import StatusView
from proctor.cli.output import console, say
from proctor.cli.platform.installation import Platform, next_command, platform
from proctor.cli.platform.services import Plan
from proctor.cli.platform.signals import run_until_signal


def keep_up(home: Path, plan: Plan) -> int:
    """The exit code. Raises Failure with what is in the way of a start."""
    return run_until_signal(lambda: _keep_up(home, plan))


async def _keep_up(home: Path, plan: Plan) -> int:
    with contextlib.ExitStack() as starting:
        view = starting.enter_context(StatusView(console))
        async with platform(home, plan, view.tell) as running:
            starting.close()
            _announce(running)
            try:
                await asyncio.Event().wait()
            finally:
                say("stopping")
    return 0


def _announce(running: Platform) -> None:
    home = running.home
    say(f"Proctor is ready at {running.running.url}")
    say(f"token  {home.token}")
    say(f"logs   {home.root / 'logs'}")
    say(f"next   {next_command(home, 'benchmark list')}")
    say("Ctrl-C stops it.")
