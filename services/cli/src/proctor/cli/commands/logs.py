"""`proctor run logs`: what happened, line by line."""

import json
import time
from enum import StrEnum
from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.agents import find_agent
from proctor.cli.arguments import AgentOption, RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.documents import ENDED, Json
from proctor.cli.follow import Patience
from proctor.cli.output import HomeOption, JsonOption, say

FOLLOW_SECONDS: Final = 0.5
SILENCE_SECONDS: Final = 30.0


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def logs(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    level: Annotated[LogLevel | None, typer.Option(help="Only lines of this level and above.")] = None,
    agent: AgentOption = None,
    task: Annotated[str | None, typer.Option(help="Only lines of this task, by name.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a run's log from its start; --json prints one object a line."""
    path = f"runs/{segment(run)}"
    with Client(find_access(home)) as client:
        number = int(find_agent(client.get(path), agent)["agent"]) if agent is not None else None
        cursor: str | None = None
        heard = time.monotonic()
        patience = Patience()

        def ask() -> tuple[Json, Json]:
            filters = {"level": LogLevel.ERROR if level is LogLevel.ERROR else None, "agent": number, "task": task}
            return client.get(path), client.get(f"{path}/logs", direction="newer", cursor=cursor, limit=200, **filters)

        while True:
            answer = patience.ask(ask) if follow else ask()
            if answer is None:
                time.sleep(FOLLOW_SECONDS)
                continue
            run_now, page = answer
            for line in page["items"]:
                if reaches(line["level"], level):
                    _print(line, as_json=as_json)
            cursor = page["newer"]
            if page["items"]:
                heard = time.monotonic()
            elif not follow or run_now["cleaned_at"] or _silent(run_now, heard):
                return
            else:
                time.sleep(FOLLOW_SECONDS)


def reaches(level: str, least: LogLevel | None) -> bool:
    order = list(LogLevel)
    return least is None or order.index(LogLevel(level)) >= order.index(least)


def _silent(run: Json, heard: float) -> bool:
    """Whether a run that ended has said nothing for so long that its clean-up isn't worth waiting for."""
    return run["status"] in ENDED and time.monotonic() - heard > SILENCE_SECONDS


def _print(line: Json, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(line, ensure_ascii=False))
    else:
        say(f"{line['time'][11:19]} {line['level']:<7} {line['step']:<10} {line['message']}")
