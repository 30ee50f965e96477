"""`proctor audit`: who changed what."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client
from proctor.cli.display.table import make_table
from proctor.cli.documents import Json, part
from proctor.cli.output import HomeOption, JsonOption, print_json, show
from proctor.cli.people import emails


def audit(
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who changed tokens, members, secrets, billing and results, newest first; for admins."""
    with Client(find_access(home)) as client:
        entries = list(islice(client.pages("audit"), limit))
        held = any("holder" in part(entry, "detail") for entry in entries)
        users = emails(client) if held and not as_json else {}
    if as_json:
        print_json(entries)
        return
    rows = [
        (
            entry["at"][:19].replace("T", " "),
            entry["actor_email"] or entry["actor"],
            entry["action"],
            entry["target_email"] or entry["target"],
            _detail(entry, users),
        )
        for entry in entries
    ]
    columns = ("Time (UTC)", "By", "Action", "Target", "Detail")
    show(make_table(columns, rows, dispensable=("Detail", "Target"), name="Detail"))


def _detail(entry: Json, users: Mapping[str, str]) -> str:
    return ", ".join(
        f"{key} {users.get(value, value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in part(entry, "detail").items()
        if value is not None
    )
