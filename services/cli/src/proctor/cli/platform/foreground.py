"""The platform in the foreground, until a signal."""

import asyncio
import contextlib
import getpass
from pathlib import Path
from urllib.parse import urlsplit

from proctor.cli.display.status import StatusView
from proctor.cli.output import console, say
from proctor.cli.pasteable import pasteable
from proctor.cli.platform.installation import Platform, platform
from proctor.cli.platform.services import Plan
from proctor.cli.platform.signals import run_until_signal
from proctor.service.settings import Settings, read_settings


def keep_up(home: Path, plan: Plan) -> int:
    """The exit code. Raises Failure with what is in the way of a start."""
    read_settings(Settings)  # what every service would refuse is told before anything starts
    return run_until_signal(lambda: _keep_up(home, plan))


async def _keep_up(home: Path, plan: Plan) -> int:
    try:
        with contextlib.ExitStack() as starting:
            view = starting.enter_context(StatusView(console))
            async with platform(home, plan, view.tell) as running:
                starting.close()
                _announce(running)
                try:
                    await asyncio.Event().wait()
                finally:
                    say("\nstopping" if console.is_terminal else "stopping")
    except asyncio.CancelledError:
        say(f"stopped; data kept in {home}")
        raise
    return 0


def _announce(running: Platform) -> None:
    home = running.home
    say(f"Proctor is ready at {running.running.url}")
    say(f"token             {home.token}")
    say(f"logs              {home.root / 'logs'}")
    say(f"try               {pasteable('benchmark', 'list', home=home.root)}")
    say(f"one more runner   {pasteable('runner', home=home.root)}")
    if running.bus.outside is not None:
        _announce_outside(running.bus.outside)
    say("Ctrl-C stops it.")


def _announce_outside(file: Path) -> None:
    host = urlsplit(file.read_text()).hostname
    say(f"another machine   ssh {getpass.getuser()}@{host} cat {file} | just runner --nats -")
    say("                  (in a clone there; the file holds the bus's password, which crosses the network in clear)")
