"""`proctor benchmark`: add, look at, read again, remove."""

import sys
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from proctor.cli.access import find_access
from proctor.cli.arguments import BenchmarkArgument
from proctor.cli.benchmarks import find_benchmark
from proctor.cli.client import Client, Refused, segment
from proctor.cli.commands.validate import PathArgument, validate
from proctor.cli.completion import complete_harness
from proctor.cli.display.benchmark import benchmark_facts, counted, task_table, unusable
from proctor.cli.display.facts import make_facts
from proctor.cli.display.figures import DASH
from proctor.cli.display.table import make_table
from proctor.cli.documents import Json
from proctor.cli.failure import Exit, Failure, Misused
from proctor.cli.follow import follow_sync
from proctor.cli.output import HomeOption, JsonOption, errors, notice, print_json, say, show
from proctor.cli.pasteable import pasteable

if TYPE_CHECKING:
    from proctor.tasks import Dataset

app = typer.Typer(no_args_is_help=True, help="Add benchmarks and look at them.")

MOST_NAMES: Final = 10

WaitOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Show progress until it can be run.")]


@app.command()
def add(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    name: Annotated[str | None, typer.Option(help="Name to show.", show_default="the dataset's")] = None,
    key: Annotated[str | None, typer.Option(help="What to call it by.", show_default="the dataset's name")] = None,
    harness: Annotated[
        str | None,
        typer.Option(help="Harness to take where a run names none.", autocompletion=complete_harness),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Score that passes.", show_default="1.0")
    ] = None,
    wait: WaitOption = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pack a folder of tasks, upload it, and wait until it can be run."""
    from proctor.cli.packing import pack  # noqa: PLC0415 - slow, for two commands alone

    dataset, archive = pack(path)
    _tell_skipped(path, dataset)
    body = {
        "key": key or dataset.name,
        "name": name or dataset.name,
        "description": dataset.description or None,
        "default_harness": harness,
        "pass_threshold": None if threshold is None else str(threshold),
    }
    with Client(find_access(home)) as client:
        source = _upload(client, path, archive)
        added = _added(client, {**_present(body), "source": source}, path, home)
        _finish(client, added, wait=wait, as_json=as_json)


@app.command("list")
def list_benchmarks(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the benchmarks that can be run."""
    with Client(find_access(home)) as client:
        items = list(client.pages("benchmarks"))
    if as_json:
        print_json(items)
        return
    rows = [
        [
            one["key"],
            one["name"],
            "managed" if one["managed"] else one["source"]["kind"],
            _tasks(one),
            str(one.get("unavailable_count") or DASH),
            one["status"],
        ]
        for one in items
    ]
    columns = ["Key", "Name", "Source", "Tasks", "Unusable", "Status"]
    optional, right = ["Unusable"], ["Tasks", "Unusable"]
    show(make_table(columns, rows, right=right, optional=optional, dispensable=["Name", "Source"]))


@app.command()
def info(benchmark: BenchmarkArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a benchmark, what its tasks need, and its tasks."""
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        tasks = client.get(f"benchmarks/{segment(found['id'])}/tasks")
    if as_json:
        print_json({**found, **tasks})
        return
    show(make_facts(benchmark_facts(found, tasks)))
    if tasks["tasks"]:
        say("")
        show(task_table(tasks["tasks"]))
    left_out = list(unusable(tasks))
    if left_out:
        say("")
        say(f"{len(left_out)} can't be used:")
        for line in left_out:
            say(f"  {line}")


@app.command()
def sync(
    benchmark: BenchmarkArgument,
    path: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, help="A folder with its new content.")
    ] = None,
    wait: WaitOption = True,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a benchmark's source again, or replace it by a folder."""
    from proctor.cli.packing import pack  # noqa: PLC0415 - slow, for two commands alone

    dataset, archive = pack(path) if path else (None, None)
    if path and dataset:
        _tell_skipped(path, dataset)
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        body: Json = {"source": _upload(client, path, archive)} if path and archive is not None else {}
        begun = client.post(f"benchmarks/{segment(found['id'])}/sync", body)
        _finish(client, begun, wait=wait, as_json=as_json, before=found["version"])


@app.command()
def remove(
    benchmark: BenchmarkArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a benchmark of your own; its runs stay. In a terminal it asks first; elsewhere it needs --yes."""
    if not yes and not sys.stdin.isatty():
        raise Misused("benchmark remove without a terminal needs --yes")
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        if not yes and not typer.confirm(f"Remove {found['key']}?", err=True):
            raise Failure(f"{found['key']} stays")
        client.delete(f"benchmarks/{segment(found['id'])}")
    if as_json:
        print_json({"id": found["id"], "key": found["key"], "removed": True})
    else:
        say(f"removed {found['key']}")


def _added(client: Client, body: Json, path: Path, home: Path | None) -> Json:
    try:
        return client.post("benchmarks", body)
    except Refused as refusal:
        if refusal.status != HTTPStatus.CONFLICT:
            raise
        known = client.get("benchmarks", key=body["key"])["items"]
        if not known or known[0]["managed"]:
            raise
        sync = pasteable("benchmark", "sync", body["key"], str(path), home=home)
        raise Failure(
            f"there is a benchmark {body['key']} already: choose another --key, or give it this content",
            details=(sync,),
            code=Exit.REFUSED,
        ) from None


def _tell_skipped(path: Path, dataset: "Dataset") -> None:
    from proctor.cli.packing import skipped  # noqa: PLC0415 - slow, for two commands alone

    names = skipped(path, dataset)
    if names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        notice(f"skipped, no task.toml in it: {', '.join(names[:MOST_NAMES])}{more}")


def _upload(client: Client, path: Path, archive: bytes) -> Json:
    stored = client.upload(archive)
    return {"kind": "upload", "object": stored["object"], "origin": str(path)}


def _finish(client: Client, benchmark: Json, *, wait: bool, as_json: bool, before: str | None = None) -> None:
    """`before`: the version that there was."""
    if not wait:
        if as_json:
            print_json(benchmark)
        else:
            say(f"{benchmark['key']} is {benchmark['status']}")
        return
    with Progress(
        TextColumn("reading {task.description}", markup=False),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        console=errors,
        disable=not errors.is_terminal,
    ) as bar:
        row = bar.add_task(benchmark["key"], total=None)

        def show(one: Json) -> None:
            bar.update(row, total=one["sync_total"] or None, completed=one["sync_done"] or 0)

        ready = follow_sync(client, benchmark["id"], show)
    tasks = client.get(f"benchmarks/{segment(ready['id'])}/tasks")
    if as_json:
        print_json({**ready, "unavailable": tasks["unavailable"]})
        return
    left_out = list(unusable(tasks))
    state = "unchanged" if ready["version"] == before else "ready"
    more = f", {len(left_out)} unusable" if left_out else ""
    say(f"{ready['key']} is {state}: {counted(ready['task_count'])}{more}, version {ready['version']}")
    for line in left_out:
        notice(f"can't be used: {line}")


def _tasks(benchmark: Json) -> str:
    if benchmark["status"] == "syncing" and benchmark["sync_total"]:
        return f"{benchmark['sync_done']} / {benchmark['sync_total']}"
    return DASH if benchmark["task_count"] is None else str(benchmark["task_count"])


def _present(body: dict[str, Any]) -> Json:
    return {key: value for key, value in body.items() if value is not None}


app.command()(validate)
