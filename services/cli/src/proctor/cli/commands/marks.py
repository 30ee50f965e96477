"""`proctor run note | tag | archive | unarchive`."""

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.documents import Json, texts
from proctor.cli.output import HomeOption, JsonOption, print_json, say


def note(
    run: RunArgument,
    text: Annotated[str | None, typer.Argument(help="The new note; empty to remove it.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the note of a run, or write it."""
    with Client(find_access(home)) as client:
        path = f"runs/{segment(run)}"
        found = client.get(path) if text is None else client.patch(path, {"note": text or None})
    _tell(found, found["note"] or "no note", as_json=as_json)


def tag(
    run: RunArgument,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="A tag to remove; may be repeated.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the tags of a run, add some or remove some."""
    with Client(find_access(home)) as client:
        path = f"runs/{segment(run)}"
        found = client.get(path)
        if tags or remove:
            wanted = [*texts(found, "tags"), *(tags or [])]
            found = client.patch(path, {"tags": [one for one in wanted if one not in (remove or [])]})
    _tell(found, ", ".join(texts(found, "tags")) or "no tags", as_json=as_json)


def archive(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Leave a run out of lists; nothing of it is lost."""
    _tell(_mark(home, run, archived=True), "archived", as_json=as_json)


def unarchive(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Put a run into lists again."""
    _tell(_mark(home, run, archived=False), "in lists again", as_json=as_json)


def _mark(home: Path | None, run: str, *, archived: bool) -> Json:
    with Client(find_access(home)) as client:
        return client.patch(f"runs/{segment(run)}", {"archived": archived})


def _tell(run: Json, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        say(f"{run['name']}: {text}")
