"""`proctor benchmark`: add, look at, read again, remove."""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from proctor.cli.access import find_access
from proctor.cli.benchmarks import find_benchmark
from proctor.cli.client import Client, Refused, segment
from proctor.cli.display.table import make_table
from proctor.cli.documents import Json, named, parts
from proctor.cli.failure import Failure
from proctor.cli.follow import follow_sync
from proctor.cli.output import HomeOption, JsonOption, errors, notice, print_json, say, show
from proctor.cli.pasteable import pasteable

if TYPE_CHECKING:
    from proctor.tasks import Dataset

app = typer.Typer(no_args_is_help=True, help="Add benchmarks and look at them.")

MOST_NAMES: Final = 10

BenchmarkArgument = Annotated[str, typer.Argument(help="Key, name or id of a benchmark.")]
PathArgument = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, help="A folder of Harbor tasks, or one task.")
]


@app.command()
def add(  # noqa: PLR0917 - typer calls it by name
    path: PathArgument,
    name: Annotated[str | None, typer.Option(help="Name to show.", show_default="the dataset's")] = None,
    key: Annotated[str | None, typer.Option(help="What to call it by.", show_default="the dataset's name")] = None,
    harness: Annotated[str | None, typer.Option(help="Harness to take where a run names none.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Score that passes.", show_default="1.0")
    ] = None,
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
        _finish(client, added, as_json=as_json)


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
            one["status"],
        ]
        for one in items
    ]
    columns = ["Key", "Name", "Source", "Tasks", "Status"]
    show(make_table(columns, rows, right=["Tasks"], dispensable=["Name", "Source"]))


@app.command()
def info(benchmark: BenchmarkArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a benchmark, its task sets and its tasks."""
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        tasks = client.get(f"benchmarks/{segment(found['id'])}/tasks")
    if as_json:
        print_json({**found, **tasks})
        return
    for label in ("key", "name", "description", "status", "version", "default_harness", "pass_threshold", "error"):
        if found.get(label) is not None:
            say(f"{label.replace('_', ' '):<16} {found[label]}")
    for task_set in tasks["task_sets"]:
        say(f"{'task set':<16} {task_set['name']} ({task_set['task_count']} tasks)")
    rows = [[task["name"], task.get("category") or "-", task.get("difficulty") or "-"] for task in tasks["tasks"]]
    if rows:
        say("")
        show(make_table(["Task", "Category", "Difficulty"], rows, dispensable=["Difficulty", "Category"]))
    unusable = list(_unusable(tasks))
    if unusable:
        say("")
        say(f"{len(unusable)} can't be used:")
        for line in unusable:
            say(f"  {line}")


@app.command()
def sync(
    benchmark: BenchmarkArgument,
    path: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, help="A folder with its new content.")
    ] = None,
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
        _finish(client, client.post(f"benchmarks/{segment(found['id'])}/sync", body), as_json=as_json)


@app.command()
def remove(benchmark: BenchmarkArgument, home: HomeOption = None) -> None:
    """Remove a benchmark of your own; its runs stay."""
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        client.delete(f"benchmarks/{segment(found['id'])}")
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


def _finish(client: Client, benchmark: Json, *, as_json: bool) -> None:
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
    count = ready["task_count"]
    say(f"{ready['key']} is ready: {count} task{'' if count == 1 else 's'}, version {ready['version']}")
    for line in _unusable(tasks):
        notice(f"can't be used: {line}")


def _unusable(tasks: Json) -> Iterator[str]:
    """A line for each task that is left out, with its reason."""
    return (named(task["name"], task["reason"]) for task in parts(tasks, "unavailable"))


def _tasks(benchmark: Json) -> str:
    if benchmark["status"] == "syncing" and benchmark["sync_total"]:
        return f"{benchmark['sync_done']} / {benchmark['sync_total']}"
    return "-" if benchmark["task_count"] is None else str(benchmark["task_count"])


def _present(body: dict[str, Any]) -> Json:
    return {key: value for key, value in body.items() if value is not None}
