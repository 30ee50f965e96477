"""`proctor workspace budget`: what a workspace's runs may use."""

from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.commands.workspace import NameArgument
from proctor.cli.display.figures import dollars
from proctor.cli.documents import Json
from proctor.cli.failure import Misused
from proctor.cli.output import HomeOption, JsonOption, print_json, say

_NO_LIMIT: Final = "none"
_LIMITS: Final = {"run_usd": float, "run_attempts": int, "month_usd": float, "month_attempts": int}
_METAVAR: Final = f"NUMBER|{_NO_LIMIT}"

type Limit = float | int | None


def budget(  # noqa: PLR0917 - typer calls it by name
    name: NameArgument,
    run_usd: Annotated[
        str | None, typer.Option(metavar=_METAVAR, help="Dollars a run may cost, models and sandboxes.")
    ] = None,
    run_attempts: Annotated[str | None, typer.Option(metavar=_METAVAR, help="Attempts a run may begin.")] = None,
    month_usd: Annotated[
        str | None, typer.Option(metavar=_METAVAR, help="Dollars all runs of a month (UTC) may cost.")
    ] = None,
    month_attempts: Annotated[
        str | None, typer.Option(metavar=_METAVAR, help="Attempts all runs of a month (UTC) may begin.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a workspace's budget and this month's use; with options, change it: for owners.

    A run that reaches it begins nothing more, keeps what it has, and is stopped.
    """
    given = (run_usd, run_attempts, month_usd, month_attempts)
    changes = {limit: _number(limit, text) for limit, text in zip(_LIMITS, given, strict=True) if text is not None}
    path = f"workspaces/{segment(name)}/budget"
    with Client(find_access(home)) as client:
        found = client.get(path)
        if changes:
            found = client.put(path, {**{limit: found[limit] for limit in _LIMITS}, **changes})
    if as_json:
        print_json(found)
        return
    say(f"a run     {_both(found, 'run')}")
    say(f"a month   {_both(found, 'month')}")
    say(f"used      {dollars(found['used']['usd'])}, {_attempts(found['used']['attempts'])} this month")


def _number(limit: str, text: str) -> Limit:
    option = f"--{limit.replace('_', '-')}"
    if text == _NO_LIMIT:
        return None
    try:
        number = _LIMITS[limit](text)
    except ValueError:
        kind = "a number" if _LIMITS[limit] is float else "a whole number"
        raise Misused(f"{option} {text!r}: must be {kind} or `{_NO_LIMIT}`") from None
    if not 0 < number < float("inf"):
        raise Misused(f"{option} {text}: must be more than 0; `{_NO_LIMIT}` is no limit")
    return number


def _both(found: Json, scope: str) -> str:
    usd, attempts = found[f"{scope}_usd"], found[f"{scope}_attempts"]
    said = [*([dollars(usd)] if usd is not None else []), *([_attempts(attempts)] if attempts is not None else [])]
    return ", ".join(said) or "no limit"


def _attempts(count: int) -> str:
    return f"{count:,} attempt{'' if count == 1 else 's'}"
