"""`proctor run pause | resume | stop-agent | retry`."""

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.agents import find_agent
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.display.progress import agent_label
from proctor.cli.documents import Json
from proctor.cli.output import HomeOption, JsonOption, print_json, say

ReasonOption = Annotated[str | None, typer.Option(help="Why, for the log.")]


def pause(run: RunArgument, reason: ReasonOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Begin nothing more of a run until it is resumed; what is under way goes on."""
    found = _ask(home, run, "pause", reason)
    count = int(found.get("in_progress") or 0)
    _tell(found, f"paused; {count} attempt{'' if count == 1 else 's'} under way", as_json=as_json)


def resume(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Go on with a paused run."""
    _tell(_ask(home, run, "resume"), "resumed", as_json=as_json)


def stop_agent(
    run: RunArgument,
    agent: Annotated[str, typer.Argument(help="The agent: its name, or its number from 0.")],
    reason: ReasonOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask one agent of a run to stop; the others go on."""
    with Client(find_access(home)) as client:
        meant = find_agent(client.get(f"runs/{segment(run)}"), agent)
    found = _ask(home, run, f"agents/{meant['agent']}/stop", reason)
    _tell(found, f"stop of {agent_label(meant)} requested", as_json=as_json)


def retry(
    run: RunArgument,
    attempt: Annotated[str, typer.Argument(help="Identity of the attempt, or its key like 0-3-1.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try an attempt that ended in an error once more, while its run goes on."""
    found = _ask(home, run, f"results/{segment(attempt)}/retry")
    _tell(found, f"{attempt} is tried again", as_json=as_json)


def _ask(home: Path | None, run: str, what: str, reason: str | None = None) -> Json:
    with Client(find_access(home)) as client:
        return client.post(f"runs/{segment(run)}/{what}", {"reason": reason} if reason else {})


def _tell(run: Json, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        say(f"{run['name']}: {text}")
