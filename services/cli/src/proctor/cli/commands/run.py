"""`proctor run`: submit, watch, stop."""

import os
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.arguments import BenchmarkOption, RunArgument
from proctor.cli.client import Client, segment
from proctor.cli.commands.download import download
from proctor.cli.commands.logs import logs
from proctor.cli.commands.results import results
from proctor.cli.display.facts import make_facts
from proctor.cli.display.figures import DASH, age, duration
from proctor.cli.display.kinds import kind_lines
from proctor.cli.display.progress import done, run_view, status_line
from proctor.cli.display.run import agents_notes, agents_table, run_facts
from proctor.cli.display.table import make_table
from proctor.cli.documents import ENDED, Json, texts
from proctor.cli.failure import Exit, Misused
from proctor.cli.follow import follow_run, settle_run
from proctor.cli.output import HomeOption, JsonOption, console, errors, notice, print_json, say, show
from proctor.cli.pasteable import pasteable
from proctor.cli.people import emails
from proctor.cli.submission import idle_budget, read_submission
from proctor.cli.thresholds import Threshold, ThresholdOption, check_names, shortfalls
from proctor.contracts.states import RunStatus

app = typer.Typer(no_args_is_help=True, help="Submit runs and follow them.")

FOREVER: Final = float("inf")
PAGE: Final = 200


class Archived(StrEnum):
    ONLY = "only"
    WITH = "with"


WaitOption = Annotated[bool, typer.Option("--wait", help="Show progress until it ends; exit 1 unless it finished.")]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0,
        show_default="none",
        metavar="SECONDS",
        help="How long to wait at most; then exit 124, and the run goes on.",
    ),
]


@app.command()
def submit(  # noqa: PLR0917 - typer calls it by name
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The run as TOML.")],
    wait: WaitOption = False,
    timeout: TimeoutOption = FOREVER,
    fail_under: ThresholdOption = None,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key is the same run.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a run."""
    if not wait and (fail_under or timeout != FOREVER):
        raise Misused("--fail-under and --timeout need --wait: without it nothing waits for the run's end")
    body = read_submission(read(file), str(file), os.environ)
    with Client(find_access(home)) as client:
        run = client.post("runs", body, key=key)
        for warning in (*texts(run, "warnings"), *idle_budget(body, run)):
            notice(f"warning: {warning}")
        if wait:
            watch_to_end(client, run["id"], as_json=as_json, limit=timeout, thresholds=fail_under or ())
        else:
            answer(run, home, as_json=as_json)


@app.command("list")
def list_runs(  # noqa: PLR0917 - typer calls it by name
    benchmark: BenchmarkOption = None,
    status: Annotated[list[RunStatus] | None, typer.Option(help="Only runs with this status; may be repeated.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    archived: Annotated[Archived | None, typer.Option(help="Archived runs alone, or with the others.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = 30,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first."""
    with Client(find_access(home)) as client:
        filters = {"benchmark": benchmark, "status": status, "tag": tag, "archived": archived}
        found = list(islice(client.pages("runs", size=min(limit + 1, PAGE), **filters), limit + 1))
        items = found[:limit]
        several = len({run["submitted_by"] for run in items}) > 1
        users = emails(client) if several and not as_json else {}
    if as_json:
        print_json(items)
        return
    if not items:
        say("no such run" if any(filters.values()) else "no run yet")
        return
    rows = [
        [
            run["name"],
            run["benchmark_key"],
            run["status"],
            f"{done(run)}/{run['expected']}" if run["expected"] else DASH,
            str(run.get("cancelled") or DASH),
            duration(run["started_at"], run["ended_at"]),
            age(run["submitted_at"]),
            users.get(run["submitted_by"], str(run["submitted_by"])) if users else DASH,
            ", ".join(texts(run, "tags")) or DASH,
        ]
        for run in items
    ]
    columns = ["Run", "Benchmark", "Status", "Done", "Cancelled", "Duration", "Submitted", "By", "Tags"]
    right, optional = ["Done", "Cancelled", "Duration"], ["Cancelled", "By", "Tags"]
    dispensable = ["Tags", "Duration", "Submitted", "By", "Cancelled", "Benchmark"]
    show(make_table(columns, rows, right=right, optional=optional, dispensable=dispensable))
    if len(found) > limit:
        notice(f"these are the newest {limit}; --limit shows more")


@app.command()
def info(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a run, what it used, and the results of its agents."""
    with Client(find_access(home)) as client:
        found = client.get(f"runs/{segment(run)}")
        names = {} if as_json else _names(client, {found["rerun_of"], found["reused_from"]} - {None})
    if as_json:
        print_json(found)
        return
    say(status_line(found))
    show(make_facts(run_facts(found, names)))
    say("")
    _show_agents(found)


@app.command()
def watch(
    run: RunArgument,
    timeout: TimeoutOption = FOREVER,
    fail_under: ThresholdOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run's progress until it ends; exit 1 unless it finished."""
    with Client(find_access(home)) as client:
        watch_to_end(client, run, as_json=as_json, limit=timeout, thresholds=fail_under or ())


@app.command()
def wait(
    run: RunArgument,
    timeout: TimeoutOption = FOREVER,
    fail_under: ThresholdOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait in silence until a run ends; exit 1 unless it finished."""
    thresholds = fail_under or ()
    with Client(find_access(home)) as client:
        follow_run(client, run, lambda now: check_names(now, thresholds), timeout)
        _end(settle_run(client, run), thresholds, as_json=as_json)


@app.command()
def stop(
    run: RunArgument,
    reason: Annotated[str | None, typer.Option(help="Why, for the log.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a run to stop; results there are stay."""
    with Client(find_access(home)) as client:
        found = client.post(f"runs/{segment(run)}/stop", {"reason": reason} if reason else {})
    if as_json:
        print_json(found)
        return
    count = int(found.get("in_progress") or 0)
    say(f"{found['name']}: stop requested; {count} attempt{'' if count == 1 else 's'} under way")
    say(_watching(found, home))


def _names(client: Client, runs: Iterable[str]) -> dict[str, str]:
    return {run: client.get(f"runs/{segment(run)}")["name"] for run in runs}


def read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Misused(f"{file}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise Misused(f"can't read {file}: {error.strerror}") from None


def watch_to_end(
    client: Client, run: str, *, as_json: bool, limit: float = FOREVER, thresholds: Sequence[Threshold] = ()
) -> None:
    """Show it until it ends. Raises Exit unless it finished and reached the thresholds."""
    with run_view(errors if as_json else console) as view:

        def show_now(now: Json) -> None:
            check_names(now, thresholds)
            view.show(now)

        follow_run(client, run, show_now, limit, view.say)
    _end(settle_run(client, run), thresholds, as_json=as_json)


def _end(run: Json, thresholds: Sequence[Threshold], *, as_json: bool) -> None:
    answer(run, None, as_json=as_json)
    missed = list(shortfalls(run, thresholds))
    for line in missed:
        notice(line)
    if missed or run["status"] != RunStatus.FINISHED:
        raise typer.Exit(Exit.UNMET)


def answer(run: Json, home: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
        return
    say(status_line(run))
    _show_agents(run)
    if run["status"] not in ENDED:
        say(_watching(run, home))


def _watching(run: Json, home: Path | None) -> str:
    return f"watch it with `{pasteable('run', 'watch', run['name'], home=home)}`"


def _show_agents(run: Json) -> None:
    """What they reached, and why attempts didn't go well."""
    if table := agents_table(run):
        show(table)
    for line in agents_notes(run):
        say(line)
    for line in kind_lines(run):
        say(line)


for function in (logs, results, download):
    app.command()(function)
