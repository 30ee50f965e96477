"""What a shell completes names from. Quick, and silent when there is nobody to ask."""

import contextlib
import io
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer

from proctor.cli.access import PROFILE, WORKSPACE, find_access
from proctor.cli.client import Client, segment
from proctor.cli.display.progress import agent_label
from proctor.cli.documents import parts
from proctor.cli.profiles import read_profiles
from proctor.contracts.config import HARNESSES

TIMEOUT: Final = httpx.Timeout(1)
NEWEST: Final = 200

type Choice = tuple[str, str]
"""What can be written, and what it is."""


def complete_run(context: typer.Context, incomplete: str) -> list[Choice]:
    def runs(client: Client) -> Iterator[Choice]:
        for run in parts(client.get("runs", limit=NEWEST), "items"):
            yield run["name"], f"{run['benchmark_key']}, {run['status']}"

    return _answered(context, incomplete, runs)


def complete_benchmark(context: typer.Context, incomplete: str) -> list[Choice]:
    def benchmarks(client: Client) -> Iterator[Choice]:
        for one in parts(client.get("benchmarks", limit=NEWEST), "items"):
            yield one["key"], one["name"]

    return _answered(context, incomplete, benchmarks)


def complete_agent(context: typer.Context, incomplete: str) -> list[Choice]:
    """Of the run on the command line: by name, or by number where a shell would break the name."""

    def agents(client: Client) -> Iterator[Choice]:
        # an option without its value yet leaves the words before it unread
        words = (word for word in context.args if not word.startswith("-"))
        name = context.params.get("run") or next(words)
        run = client.get(f"runs/{segment(name)}")
        for agent in parts(run, "agent_results"):
            label, number = agent_label(agent), str(agent["agent"])
            yield (label, f"agent {number}") if shlex.quote(label) == label else (number, label)

    return _answered(context, incomplete, agents)


def complete_harness(incomplete: str) -> list[Choice]:
    return _fitting(((one.name, one.summary) for one in HARNESSES.values()), incomplete)


def complete_profile(incomplete: str) -> list[Choice]:
    with contextlib.suppress(Exception):
        return _fitting(((name, one.url) for name, one in read_profiles().profiles.items()), incomplete)
    return []


ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar=PROFILE,
        help="Server to talk to, of `proctor profile list`.",
        show_default="the one in use",
        autocompletion=complete_profile,
    ),
]


def _answered(context: typer.Context, incomplete: str, question: Callable[[Client], Iterable[Choice]]) -> list[Choice]:
    _take_options(context.find_root().params)
    home: Path | None = context.params.get("home")
    silence = contextlib.redirect_stderr(io.StringIO())
    with contextlib.suppress(Exception), silence, Client(find_access(home), timeout=TIMEOUT) as client:
        return _fitting(question(client), incomplete)
    return []


def _fitting(choices: Iterable[Choice], incomplete: str) -> list[Choice]:
    return [choice for choice in choices if choice[0].startswith(incomplete)]


def _take_options(given: dict[str, Any]) -> None:
    """Options of the whole command line count here too; a callback isn't run for a completion."""
    for variable, name in ((PROFILE, "profile_name"), (WORKSPACE, "chosen")):
        if given.get(name):
            os.environ[variable] = str(given[name])
