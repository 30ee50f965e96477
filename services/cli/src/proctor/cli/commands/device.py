"""`proctor device`: let a device sign in that shows a code."""

from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.output import HomeOption, JsonOption, print_json, say

app = typer.Typer(no_args_is_help=True, help="Let devices sign in that show a code.")

CodeArgument = Annotated[str, typer.Argument(help="The code that the device shows.")]


@app.command()
def approve(code: CodeArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Let the device sign in as you, for 90 days."""
    with Client(find_access(home)) as client:
        found = client.post(f"device/{segment(code)}", {"approve": True})
    if as_json:
        print_json(found)
    else:
        say(f"{found['device_name']}: signs in as you within seconds; `proctor token list` shows its token")


@app.command()
def deny(code: CodeArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Refuse the device."""
    with Client(find_access(home)) as client:
        found = client.post(f"device/{segment(code)}", {"approve": False})
    if as_json:
        print_json(found)
    else:
        say(f"{found['device_name']}: denied")
