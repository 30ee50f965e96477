"""`proctor run`: submit, watch, stop."""

import json
import os
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.display.figures import DASH, age, count, dollars, duration, interval, rate, seconds
from proctor.cli.display.kinds import kind_lines
from proctor.cli.display.progress import agent_label, done, run_view, status_line
from proctor.cli.display.table import make_table
from proctor.cli.documents import ENDED, Json, part, parts, texts
from proctor.cli.failure import Failure
from proctor.cli.follow import Patience, follow_run, settle_run
from proctor.cli.output import HomeOption, JsonOption, console, errors, notice, print_json, say, show
from proctor.cli.pasteable import pasteable
from proctor.cli.submission import read_submission
from proctor.contracts.outcomes import Outcome
from proctor.contracts.states import RunStatus

app = typer.Typer(no_args_is_help=True, help="Submit runs and follow them.")

FOLLOW_SECONDS: Final = 0.5
SILENCE_SECONDS: Final = 30.0


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


RunArgument = Annotated[str, typer.Argument(help="Name or id of a run.")]


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The run as TOML.")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Show progress until it ends; exit 1 unless it finished.")
    ] = False,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="A repeat with the same key is the same run.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit a run."""
    body = read_submission(_read(file), str(file), os.environ)
    with Client(find_access(home)) as client:
        run = client.post("runs", body, key=key)
        for warning in texts(run, "warnings"):
            notice(f"warning: {warning}")
        if not wait:
            _answer(run, home, as_json=as_json)
            return
        _watch(client, run["id"], as_json=as_json)


@app.command("list")
def list_runs(
    benchmark: Annotated[str | None, typer.Option(help="Only runs of this benchmark.")] = None,
    status: Annotated[RunStatus | None, typer.Option(help="Only runs with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many of the newest.")] = 30,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first."""
    with Client(find_access(home)) as client:
        items = parts(client.get("runs", benchmark=benchmark, status=status, limit=limit), "items")
    if as_json:
        print_json(items)
        return
    rows = [
        [
            run["name"],
            run["benchmark_key"],
            run["status"],
            f"{done(run)}/{run['expected']}" if run["expected"] else "-",
            duration(run["started_at"], run["ended_at"]),
            age(run["submitted_at"]),
        ]
        for run in items
    ]
    columns = ["Run", "Benchmark", "Status", "Done", "Duration", "Submitted"]
    show(make_table(columns, rows, right=["Done", "Duration"], dispensable=["Duration", "Submitted", "Benchmark"]))


@app.command()
def info(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a run and the results of its agents."""
    with Client(find_access(home)) as client:
        found = client.get(f"runs/{segment(run)}")
        _answer(found, home, as_json=as_json)
        if not as_json:
            _show_kinds(found)


@app.command()
def results(
    run: RunArgument,
    outcome: Annotated[Outcome | None, typer.Option(help="Only results with this outcome.")] = None,
    agent: Annotated[int | None, typer.Option(min=0, help="Only results of this agent, counted from 0.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a run's results, with the reason where an attempt didn't go well."""
    path = f"runs/{segment(run)}"
    with Client(find_access(home)) as client:
        found = client.get(path)
        items = list(client.pages(f"{path}/results", outcome=outcome, agent=agent))
    if as_json:
        print_json(items)
        return
    if not items:
        say("no such result yet")
        return
    labels = {int(one["agent"]): agent_label(one) for one in parts(found, "agent_results")}
    columns = ["Task", "Agent", "Attempt", "Outcome", "Score", "Kind", "Message"]
    rows = [
        [
            one["task_name"],
            labels.get(int(one["agent"]), str(one["agent"])),
            str(one["number"]),
            one["outcome"] or one.get("status") or DASH,
            DASH if one.get("score") is None else str(one["score"]),
            one.get("kind") or DASH,
            " ".join(str(one.get("message") or DASH).split()),
        ]
        for one in items
    ]
    table = make_table(
        columns,
        rows,
        right=["Attempt", "Score"],
        optional=["Score", "Kind", "Message"],
        dispensable=["Score", "Attempt"],
        name="Message" if any(row[-1] != DASH for row in rows) else "Task",
    )
    show(table)


@app.command()
def watch(run: RunArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show a run's progress until it ends; exit 1 unless it finished."""
    with Client(find_access(home)) as client:
        _watch(client, run, as_json=as_json)


@app.command()
def wait(
    run: RunArgument,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds to wait at most.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait in silence until a run ends; exit 1 unless it finished."""
    with Client(find_access(home)) as client:
        limit = float("inf") if timeout is None else timeout
        follow_run(client, run, lambda _: None, limit)
        _end(settle_run(client, run), as_json=as_json)


@app.command()
def logs(
    run: RunArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    level: Annotated[LogLevel | None, typer.Option(help="Only lines of this level.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a run's log from its start."""
    path = f"runs/{segment(run)}"
    with Client(find_access(home)) as client:
        cursor: str | None = None
        heard = time.monotonic()
        patience = Patience()

        def ask() -> tuple[Json, Json]:
            return client.get(path), client.get(
                f"{path}/logs", direction="newer", cursor=cursor, level=level, limit=200
            )

        while True:
            answer = patience.ask(ask) if follow else ask()
            if answer is None:
                time.sleep(FOLLOW_SECONDS)
                continue
            run_now, page = answer
            for line in page["items"]:
                _print_line(line, as_json=as_json)
            cursor = page["newer"]
            if page["items"]:
                heard = time.monotonic()
            elif not follow or run_now["cleaned_at"] or _silent(run_now, heard):
                return
            else:
                time.sleep(FOLLOW_SECONDS)


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


def _silent(run: Json, heard: float) -> bool:
    """Whether a run that ended has said nothing for so long that its clean-up isn't worth waiting for."""
    return run["status"] in ENDED and time.monotonic() - heard > SILENCE_SECONDS


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Failure(f"{file}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise Failure(f"can't read {file}: {error.strerror}") from None


def _watch(client: Client, run: str, *, as_json: bool) -> None:
    shown = errors if as_json else console
    with run_view(shown) as view:
        follow_run(client, run, view.show, say=view.say)
    _end(settle_run(client, run), as_json=as_json)


def _end(run: Json, *, as_json: bool) -> None:
    _answer(run, None, as_json=as_json)
    if not as_json:
        _show_kinds(run)
    if run["status"] != "finished":
        raise typer.Exit(1)


def _answer(run: Json, home: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
        return
    say(status_line(run))
    show_agents(run)
    if run["status"] not in ENDED:
        say(_watching(run, home))


def _watching(run: Json, home: Path | None) -> str:
    return f"watch it with `{pasteable('run', 'watch', run['name'], home=home)}`"


def _show_kinds(run: Json) -> None:
    """Why attempts didn't go well."""
    for line in kind_lines(run):
        say(line)


def show_agents(run: Json) -> None:
    """A row for each agent of the run, once there are any."""
    agents = parts(run, "agent_results")
    if not agents:
        return
    columns = ["Agent", "Status", "Done", "Passed", "Errored", "Pass@1", "95% interval", "Time/task", "Tokens", "Cost"]
    optional = ["Errored", "Time/task", "Tokens", "Cost"]
    dispensable = ["Tokens", "Time/task", "Cost", "95% interval", "Status", "Errored", "Done"]
    show(make_table(columns, map(_agent_row, agents), right=columns[2:], optional=optional, dispensable=dispensable))


def _agent_row(agent: Json) -> list[str]:
    metrics = part(agent, "metrics")
    tokens: list[int | None] = [agent.get("input_tokens"), agent.get("output_tokens")]
    return [
        agent_label(agent),
        agent["status"],
        f"{done(agent)}/{agent['expected']}",
        str(agent["passed"]),
        str(agent["errored"] or "-"),
        rate(metrics.get("pass_at_1")),
        interval(metrics.get("pass_at_1")),
        seconds(part(metrics, "time_per_task").get("value")),
        count(None if None in tokens else sum(filter(None, tokens))),
        dollars(agent.get("cost_usd")),
    ]


def _print_line(line: Json, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(line, ensure_ascii=False))
        return
    say(f"{line['time'][11:19]} {line['level']:<7} {line['step']:<10} {line['message']}")
