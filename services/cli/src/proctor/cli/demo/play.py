"""The demonstration: a platform, a run on it, what came out."""

import asyncio
import contextlib
import os
import time
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from proctor.cli.access import Access, home_of
from proctor.cli.benchmarks import find_benchmark
from proctor.cli.client import Client, segment
from proctor.cli.commands.leaderboard import show_board
from proctor.cli.demo.expectation import surprises
from proctor.cli.demo.place import new_place
from proctor.cli.display.progress import agent_label, run_view, status_line
from proctor.cli.display.results import results_table
from proctor.cli.display.status import StatusView
from proctor.cli.documents import Json
from proctor.cli.follow import board_with, follow_run, follow_sync, poll
from proctor.cli.output import console, notice, say, show
from proctor.cli.pasteable import pasteable
from proctor.cli.platform.home import Home
from proctor.cli.platform.installation import platform
from proctor.cli.platform.ports import free_port
from proctor.cli.platform.services import Backend, Plan
from proctor.cli.platform.signals import run_until_signal
from proctor.cli.submission import read_submission
from proctor.service.settings import Settings, default_home, read_settings

BENCHMARK: Final = "first-steps"
AGENTS: Final = (
    "oracle    runs each task's own solution: it should pass everything",
    "nop       does nothing: it should pass nothing",
    "command   a few lines of shell that know four of the tasks, two of them only every other time",
)
SYNC_SECONDS: Final = 60.0
RUN_SECONDS: Final = 600.0


class Shown(NamedTuple):
    run: Json
    board: Json
    results: list[Json]


def play_demo(home: Path | None, backend: Backend, runners: int, *, keep: bool) -> int:
    """The exit code: 0 when every result was as expected."""
    read_settings(Settings)  # what every service would refuse is told before anything starts
    place = home_of(home).root if home else new_place(Path(os.environ.get("PROCTOR_HOME") or default_home()))
    plan = Plan(port=free_port(), runners=runners, backend=backend, capacity=8)
    return run_until_signal(lambda: _demo(place, plan, keep=keep), interrupted=130)


async def _demo(place: Path, plan: Plan, *, keep: bool) -> int:
    began = time.monotonic()
    say(f"starting a platform in {place}")
    with contextlib.ExitStack() as starting:
        view = starting.enter_context(StatusView(console))
        async with platform(place, plan, view.tell) as running:
            starting.close()
            say(f"ready at {running.running.url} after {time.monotonic() - began:.1f} s")
            access = Access(running.running.url, running.home.token.read_text().strip())
            # The block ends the requests of the thread too: a closed client answers nothing more.
            with Client(access) as client:
                shown = await asyncio.to_thread(_play, client, running.home)
            problems = list(surprises(shown.run, shown.results, shown.board))
            _conclude(running.home, shown, problems, time.monotonic() - began)
            if keep:
                say(f"the platform keeps running at {running.running.url}; Ctrl-C stops it")
                await asyncio.Event().wait()
    return 1 if problems else 0


def _play(client: Client, home: Home) -> Shown:
    text = resources.files("proctor.cli.demo").joinpath("run.toml").read_text()
    (home.root / "demo.toml").write_text(text)
    poll(lambda: client.get("benchmarks", key=BENCHMARK), lambda page: bool(page["items"]), _nothing, SYNC_SECONDS)
    benchmark = follow_sync(client, find_benchmark(client, BENCHMARK)["id"], _nothing, SYNC_SECONDS)
    say(f"benchmark {benchmark['key']}: {benchmark['task_count']} tasks")
    run = client.post("runs", read_submission(text, "run.toml", {}))
    with run_view(console) as view:
        run = follow_run(client, run["id"], view.show, RUN_SECONDS, view.say)
    board = board_with(client, benchmark["id"], run["id"])
    results = list(client.pages(f"runs/{segment(run['id'])}/results"))
    return Shown(client.get(f"runs/{segment(run['id'])}"), board, results)


def _nothing(_: Json) -> None:
    pass


def _conclude(home: Home, shown: Shown, problems: list[str], elapsed: float) -> None:
    agents = [agent_label(agent) for agent in shown.run["agent_results"]]
    say("")
    for line in AGENTS:
        say(line)
    say("")
    show(results_table(shown.results, agents))
    say("P passed, F failed, E errored; a letter for each attempt")
    say("")
    show_board(shown.board)
    say("")
    say(status_line(shown.run))
    say(f"sandboxes by {' and '.join(sorted({str(result['backend']) for result in shown.results}))}")
    for note in sorted({result["note"] for result in shown.results if result["note"]}):
        say(f"note: {note}")
    for problem in problems:
        notice(f"unexpected: {problem}")
    say(f"took {elapsed:.1f} s; the data is in {home.root}")
    say(f"bring it up again   {pasteable('up', home=home.root)}")
    submit = pasteable("run", "submit", str(home.root / "demo.toml"), "--wait", home=home.root)
    say(f"then run it again   {submit}")
