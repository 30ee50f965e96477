"""`proctor up`: the platform in the foreground."""

from typing import Annotated

import typer

from proctor.cli.access import home_of
from proctor.cli.output import HomeOption, PortOption
from proctor.cli.platform.services import Backend, Plan

BackendOption = Annotated[
    Backend, typer.Option(help="Where agents run: docker, bubblewrap, or docker where its engine answers (auto).")
]
HostOption = Annotated[str, typer.Option("--host", envvar="PROCTOR_HOST", help="Address the HTTP API listens on.")]
RunnersOption = Annotated[int, typer.Option(min=0, max=64, help="Sandbox runners to start.")]
CapacityOption = Annotated[
    int | None, typer.Option(min=1, max=256, show_default="by CPUs", help="Attempts a runner takes on at once.")
]
NatsHostOption = Annotated[
    str, typer.Option(help="Address the bus listens on; 0.0.0.0 lets runners on other machines in.")
]
NatsPortOption = Annotated[
    int | None,
    typer.Option(min=1, max=65535, show_default="that of the last start", help="Port of the bus; kept from then on."),
]


def up(  # noqa: PLR0917 - typer calls it by name
    home: HomeOption = None,
    port: PortOption = 8700,
    host: HostOption = "127.0.0.1",
    runners: RunnersOption = 1,
    backend: BackendOption = Backend.AUTO,
    capacity: CapacityOption = None,
    nats_host: NatsHostOption = "127.0.0.1",
    nats_port: NatsPortOption = None,
) -> None:
    """Start the platform and keep it running until Ctrl-C.

    NATS, PostgreSQL and every service run as children of this process; one that dies is started again. All data is
    in the home, and the next start finds it.

    More runners: `proctor runner --home DIR` adds one on this machine. For other machines start with
    `--nats-host 0.0.0.0`, in a network you trust: the bus asks for a password but isn't encrypted. The start then
    prints the command for the other machine. It reads the bus's address, with the password, from a file in the home
    that only you can read, so that the password is on no screen and in no list of processes.
    """
    plan = Plan(
        port=port,
        host=host,
        runners=runners,
        backend=backend,
        capacity=capacity,
        nats_host=nats_host,
        nats_port=nats_port,
    )
    from proctor.cli.platform.foreground import keep_up  # noqa: PLC0415 - servers' clients: slow, for this command alone

    raise typer.Exit(keep_up(home_of(home).root, plan))
