"""`proctor run compare`: runs against the first of them."""

from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client
from proctor.cli.completion import complete_run
from proctor.cli.display.comparison import comparison
from proctor.cli.documents import parts
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="Names or ids of two or more runs, the baseline first.", autocompletion=complete_run),
    ],
    agents: Annotated[
        list[int] | None,
        typer.Option("--agent", min=0, help="Index of an agent of each run, in their order; else the same entrants."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also tasks with no difference.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs task by task with the first of them; the worst regressions come first."""
    chosen = ",".join(map(str, agents)) if agents else None
    with Client(find_access(home)) as client:
        found = client.get("compare", runs=",".join(runs), agents=chosen)
    if as_json:
        print_json(found)
        return
    for number, pair in enumerate(parts(found, "pairs")):
        if number:
            say("")
        for piece in comparison(pair, every=every):
            say(piece) if isinstance(piece, str) else show(piece)
