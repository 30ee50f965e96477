"""`proctor up`: the platform in the foreground."""

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.access import home_of
from proctor.cli.display.status import StatusView
from proctor.cli.output import HomeOption, PortOption, console, say
from proctor.cli.platform.installation import Platform, next_command, platform
from proctor.cli.platform.services import Backend, Plan
from proctor.cli.platform.signals import run_until_signal

BackendOption = Annotated[
    Backend, typer.Option(help="Where agents run: docker, bubblewrap, or docker where its engine answers (auto).")
]
HostOption = Annotated[str, typer.Option("--host", envvar="PROCTOR_HOST", help="Address to listen on.")]
RunnersOption = Annotated[int, typer.Option(min=0, max=64, help="Sandbox runners to start.")]
CapacityOption = Annotated[
    int | None, typer.Option(min=1, max=256, show_default="by CPUs", help="Attempts a runner takes on at once.")
]


def up(  # noqa: PLR0917 - typer calls it by name
    home: HomeOption = None,
    port: PortOption = 8700,
    host: HostOption = "127.0.0.1",
    runners: RunnersOption = 1,
    backend: BackendOption = Backend.AUTO,
    capacity: CapacityOption = None,
) -> None:
    """Start the platform and keep it running until Ctrl-C.

    NATS, PostgreSQL and every service run as children of this process; one that dies is started again. All data is
    in the home, and the next start finds it.
    """
    plan = Plan(port=port, host=host, runners=runners, backend=backend, capacity=capacity)
    raise typer.Exit(run_until_signal(lambda: _up(home_of(home).root, plan)))


async def _up(home: Path, plan: Plan) -> int:
    with contextlib.ExitStack() as starting:
        view = starting.enter_context(StatusView(console))
        async with platform(home, plan, view.tell) as running:
            starting.close()
            announce(running)
            try:
                await asyncio.Event().wait()
            finally:
                say("stopping")
    return 0


def announce(running: Platform) -> None:
    home = running.home
    say(f"Proctor is ready at {running.running.url}")
    say(f"token  {home.token}")
    say(f"logs   {home.root / 'logs'}")
    say(f"next   {next_command(home, 'benchmark list')}")
    say("Ctrl-C stops it.")
