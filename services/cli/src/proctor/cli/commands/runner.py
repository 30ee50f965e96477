"""`proctor runner`: one more sandbox runner, here or on another machine."""

import os
import socket
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from proctor.cli.access import find_running, home_of
from proctor.cli.bus import bus_url
from proctor.cli.commands.up import BackendOption, CapacityOption
from proctor.cli.output import HomeOption, notice
from proctor.cli.platform.services import RUNNER, Backend, installation_environment, runner_environment
from proctor.cli.runner_names import take_name


def runner(
    nats: Annotated[
        str | None,
        typer.Option(
            envvar="PROCTOR_NATS_URL",
            help="Address of the bus with user and password, or a file that holds it (- is stdin).",
            show_default="the bus of the platform in the home",
        ),
    ] = None,
    home: HomeOption = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Its name, once in a home and machine.", show_default="the next free of runner-1, runner-2, ..."
        ),
    ] = None,
    capacity: CapacityOption = None,
    backend: BackendOption = Backend.AUTO,
) -> None:
    """Start one more sandbox runner and keep it running until Ctrl-C.

    It needs nothing but the address of the bus; without one it joins the platform that runs in the home.
    `proctor up --nats-host 0.0.0.0` prints the command for another machine.
    """
    place = home_of(home)
    url = bus_url(nats) if nats else find_running(place).nats_url
    name = name or take_name(place.root, socket.gethostname())
    own = {
        "PROCTOR_NATS_URL": url,
        "PROCTOR_HOME": str(place.root),
        **installation_environment(url),
        **runner_environment(backend, capacity, name),
        **({"PROCTOR_LOG_FORMAT": "text", "PROCTOR_LOG_LEVEL": "info"} if sys.stderr.isatty() else {}),
    }
    bus = urlsplit(url)
    notice(f"{name} starts, for the bus at {bus.hostname}:{bus.port or 4222}; Ctrl-C stops it")
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", RUNNER], {**os.environ, **own})  # noqa: S606 - no shell
