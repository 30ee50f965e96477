"""`proctor secret`: what runs may use and nobody may read. A value is never an argument."""

import os
import sys
from enum import StrEnum
from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.display.figures import DASH, age
from proctor.cli.display.table import make_table
from proctor.cli.failure import Failure, Misused
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show

app = typer.Typer(no_args_is_help=True, help="Set and remove secrets. Their values are never shown.")


class Scope(StrEnum):
    PERSONAL = "personal"
    WORKSPACE = "workspace"


_OF_API: Final = {Scope.PERSONAL: "user", Scope.WORKSPACE: "workspace"}
_SHOWN: Final = {of_api: str(scope) for scope, of_api in _OF_API.items()}

NameArgument = Annotated[str, typer.Argument(help="Capital letters, digits and _.")]
ScopeOption = Annotated[Scope, typer.Option(help="Yours alone, or the workspace's; yours goes before it.")]


@app.command("list")
def list_secrets(
    scope: Annotated[Scope | None, typer.Option(help="Only these.", show_default="both")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the names of the secrets you can use."""
    with Client(find_access(home)) as client:
        secrets = list(client.pages("secrets", scope=_OF_API[scope] if scope else None))
    if as_json:
        print_json(secrets)
        return
    rows = [
        (
            one["name"],
            _SHOWN[one["scope"]],
            str(one["version"]),
            age(one["updated_at"]),
            one["updater_name"] or DASH,
        )
        for one in secrets
    ]
    columns = ("Name", "Scope", "Version", "Changed", "By")
    show(make_table(columns, rows, right=("Version",), dispensable=("By", "Changed")))


@app.command("set")
def set_secret(
    name: NameArgument,
    scope: ScopeOption = Scope.PERSONAL,
    variable: Annotated[
        str | None,
        typer.Option("--env", help="Take the value of this environment variable.", show_default="stdin, or ask"),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a secret, from stdin unless told otherwise; a line break at its very end is left out."""
    body = {"value": _value(name, variable), "scope": _OF_API[scope]}
    with Client(find_access(home)) as client:
        made = client.put(f"secrets/{segment(name)}", body)
    if as_json:
        print_json(made)
    else:
        say(f"set {made['name']} ({scope}, version {made['version']})")


@app.command()
def delete(
    name: NameArgument, scope: ScopeOption = Scope.PERSONAL, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Remove a secret; runs that name it can't use it any more."""
    with Client(find_access(home)) as client:
        client.delete(f"secrets/{segment(name)}", scope=_OF_API[scope])
    if as_json:
        print_json({"name": name, "scope": _OF_API[scope], "removed": True})
    else:
        say(f"removed {name} ({scope})")


def _value(name: str, variable: str | None) -> str:
    if variable is not None:
        if variable not in os.environ:
            raise Failure(f"--env {variable}: it isn't set in the environment of this command")
        return os.environ[variable]
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, err=True))
    try:
        value = sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Failure("the value on stdin isn't UTF-8 text: encode it, in base64 for example") from None
    if not value:
        raise Misused(
            f"no value came on stdin: pipe it into `proctor secret set {name}`, or name a variable with --env"
        )
    return value
