"""`proctor runner`: one more sandbox runner, here or on another machine."""

import os
import sys
from typing import Annotated

import typer

from proctor.cli.access import find_running, home_of
from proctor.cli.commands.up import BackendOption, CapacityOption
from proctor.cli.output import HomeOption
from proctor.cli.platform.services import RUNNER, Backend, installation_environment, runner_environment


def runner(
    nats: Annotated[
        str | None, typer.Option(envvar="PROCTOR_NATS_URL", help="Address of NATS, with its user and password.")
    ] = None,
    home: HomeOption = None,
    name: Annotated[
        str | None,
        typer.Option(help="Its name, once in a home.", show_default="runner-1"),
    ] = None,
    capacity: CapacityOption = None,
    backend: BackendOption = Backend.AUTO,
) -> None:
    """Start one more sandbox runner and keep it running until Ctrl-C.

    It needs nothing but the address of NATS; without one it joins the platform that runs in the home.
    """
    url = nats or find_running(home_of(home)).nats_url
    own = {
        "PROCTOR_NATS_URL": url,
        "PROCTOR_HOME": str(home_of(home).root),
        "PROCTOR_LOG_FORMAT": "text",
        **installation_environment(url),
        **runner_environment(backend, capacity, name),
    }
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", RUNNER], {**os.environ, **own})  # noqa: S606 - no shell
