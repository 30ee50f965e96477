"""`proctor up`: the platform in the foreground."""

from typing import Annotated

import typer

from proctor.cli.access import home_of
from proctor.cli.output import HomeOption, PortOption
from proctor.cli.platform.services import Backend, Plan

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
    from proctor.cli.platform.foreground import keep_up  # noqa: PLC0415 - servers' clients: slow, for this command alone

    raise typer.Exit(keep_up(home_of(home).root, plan))
