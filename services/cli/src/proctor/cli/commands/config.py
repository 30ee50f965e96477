"""`proctor run config`."""

import tomllib

import typer

from proctor.cli.access import find_access
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.output import HomeOption, JsonOption, print_json


def config(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print a run's configuration as TOML for `proctor run submit`; how it was resolved is in comments."""
    with (
        Client(find_access(home)) as client,
        client.stream(f"runs/{segment(run)}/config", {}) as answer,
    ):
        text = answer.read().decode()
    if as_json:
        print_json(tomllib.loads(text))
    else:
        typer.echo(text, nl=False)
