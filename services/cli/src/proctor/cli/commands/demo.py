"""`proctor demo`: everything at work, in half a minute."""

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.commands.up import BackendOption, RunnersOption
from proctor.cli.platform.services import Backend


def demo(
    home: Annotated[
        Path | None,
        typer.Option(readable=False, help="Folder to use.", show_default="a new one below the default home"),
    ] = None,
    backend: BackendOption = Backend.AUTO,
    runners: RunnersOption = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the platform running afterwards, until Ctrl-C.")] = False,
) -> None:
    """Start a platform, run three agents on the benchmark that ships with Proctor, and show the leaderboard.

    Needs no model and no key. The data stays until the next demo. Exit code 0 means that every result was as
    expected.
    """
    from proctor.cli.demo.play import play_demo  # noqa: PLC0415 - servers' clients: slow, for this command alone

    raise typer.Exit(play_demo(home, backend, runners, keep=keep))
