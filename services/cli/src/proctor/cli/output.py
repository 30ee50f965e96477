"""Options every client command has, and the two ways to answer: for people and as JSON."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console, RenderableType

console: Final = Console(highlight=False)
errors: Final = Console(stderr=True, highlight=False)

HomeOption = Annotated[
    Path | None,
    # whether it can be used is said by what uses it
    typer.Option(
        "--home",
        envvar="PROCTOR_HOME",
        readable=False,
        show_default="~/.local/share/proctor; /var/lib/proctor for root",
        help="Folder of the installation.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's JSON.")]
PortOption = Annotated[
    int, typer.Option("--port", envvar="PROCTOR_PORT", min=1, max=65535, help="Port of the HTTP API.")
]


def print_json(document: Any) -> None:  # noqa: ANN401 - any JSON value
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def show(table: RenderableType) -> None:
    """Whole, also where there is no terminal whose width would matter."""
    console.print(table, crop=False)


def say(text: str) -> None:
    """One literal line, however long."""
    console.print(text, markup=False, soft_wrap=True)


def notice(text: str) -> None:
    """On stderr, so that stdout stays what was asked for; with --json a line of JSON as well."""
    if wants_json():
        tell("notice", text)
    else:
        errors.print(text, markup=False, soft_wrap=True)


def tell(what: str, told: Any) -> None:  # noqa: ANN401 - any JSON value
    """One line of JSON on stderr."""
    typer.echo(json.dumps({what: told}, ensure_ascii=False), err=True)


def wants_json() -> bool:
    """By the command line as a whole, so that what is wrong with it is told as JSON too."""
    return "--json" in sys.argv[1:]
