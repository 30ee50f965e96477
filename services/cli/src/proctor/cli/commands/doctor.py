"""`proctor doctor`: what works on this machine."""

from dataclasses import asdict

import typer
from rich.text import Text

from proctor.cli.access import home_of
from proctor.cli.checks import can_run, checks, verdict
from proctor.cli.output import HomeOption, JsonOption, PortOption, console, print_json, say


def doctor(home: HomeOption = None, port: PortOption = 8700, as_json: JsonOption = False) -> None:
    """Check what Proctor finds on this machine; exit 1 when it can't run here."""
    found = list(checks(home_of(home), port))
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        for check in found:
            style = "green" if check.ok else "red" if check.needed else "yellow"
            mark = "✓" if check.ok else "✗" if check.needed else "–"
            console.print(Text.assemble((f"{mark} ", style), f"{check.name:<12}", check.found), soft_wrap=True)
        say(verdict(found))
    if not can_run(found):
        raise typer.Exit(1)
