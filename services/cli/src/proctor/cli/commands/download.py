"""`proctor run download`: what a run left, to a folder."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from proctor.cli.access import find_access
from proctor.cli.arguments import RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.downloads import Plan, Report, fetch, plan
from proctor.cli.failure import Failure
from proctor.cli.output import HomeOption, JsonOption, errors, notice, print_json, say


def download(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", show_default="the run's name", help="Folder to write to.")
    ] = None,
    types: Annotated[
        str, typer.Option("--types", help="Of summary, results, artifacts, logs, lock; with commas between, or all.")
    ] = "summary,results",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Also files that are there in the same size.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Download what a run left; exit 1 unless every file came. Of a run that goes on, as it is now."""
    with Client(find_access(home)) as client:
        found = client.get(f"runs/{segment(run)}")
        listing = client.get(f"runs/{found['id']}/outputs", types=types)
        folder = output or Path(found["name"])
        planned = plan(listing, folder, overwrite=overwrite)
        _make(folder)
        report = _fetch(client, found["id"], listing["snapshot"], planned)
    _tell(folder, planned, report, as_json=as_json)
    if report.failed:
        raise typer.Exit(1)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"can't write to {folder}: {error.strerror}; name another folder with --output") from None


def _fetch(client: Client, run: str, snapshot: str, planned: Plan) -> Report:
    bar = Progress(
        TextColumn("downloading"), BarColumn(bar_width=28), DownloadColumn(), TransferSpeedColumn(), console=errors
    )
    task = bar.add_task("", total=planned.size)
    with bar if errors.is_terminal else nullcontext():
        return fetch(client, run, snapshot, planned, lambda size: bar.advance(task, size))


def _tell(folder: Path, planned: Plan, report: Report, *, as_json: bool) -> None:
    sizes = {file.path: file.size for file in planned.wanted}
    size = sum(sizes[path] for path in report.downloaded)
    if as_json:
        failed = [{"path": path, "error": error} for path, error in sorted(report.failed.items())]
        document = {"folder": str(folder), "downloaded": sorted(report.downloaded), "skipped": report.skipped}
        print_json({**document, "failed": failed, "bytes": size})
        return
    for path, error in sorted(report.failed.items()):
        notice(f"{path}: {error}")
    skipped = f", {len(report.skipped)} there already" if report.skipped else ""
    failed_text = f", {len(report.failed)} failed: run it again" if report.failed else ""
    count = len(report.downloaded)
    say(f"{folder}: {count} file{'' if count == 1 else 's'}, {decimal(size)}{skipped}{failed_text}")
