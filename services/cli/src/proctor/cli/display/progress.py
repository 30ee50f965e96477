"""A run while it runs: a bar per agent in a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from proctor.cli.documents import ENDED, Json, parts
from proctor.cli.output import notice

PLAIN_SECONDS: Final = 2.0
"""The shortest time between two plain lines that only count."""

_DONE: Final = ("passed", "failed", "errored")
OUTCOMES: Final = (*_DONE, "cancelled")


class RunView(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, run: Json) -> None: ...

    def say(self, text: str) -> None: ...


def run_view(console: Console) -> RunView:
    return BarView(console) if console.is_terminal else LineView(console)


def agent_label(agent: Json) -> str:
    """Its entrant, which holds the name that the run's file gives it."""
    return str(agent.get("entrant") or " / ".join(filter(None, (agent.get("harness"), agent.get("model")))))


def done(counts: Json) -> int:
    """What was cancelled isn't."""
    return sum(int(counts.get(outcome) or 0) for outcome in _DONE)


def outcome_counts(counts: Json, outcomes: Sequence[str] = OUTCOMES) -> str:
    """`12 passed, 3 failed`; zeros are left out."""
    return ", ".join(f"{counts[name]} {name}" for name in outcomes if counts.get(name))


def status_line(run: Json) -> str:
    """`brave-otter: running, 12/30 done: 9 passed, 3 failed; waiting: 4 of 4 slots`."""
    line = f"{run['name']}: {run['status']}"
    if run.get("paused") is not None:
        line += f", paused: {run['paused']}" if run["paused"] else ", paused"
    if run.get("expected"):
        line += f", {done(run)}/{run['expected']} done"
    if run.get("cancelled"):
        line += f", {run['cancelled']} cancelled"
    if counted := outcome_counts(run, _DONE):
        line += f": {counted}"
    if run.get("waiting"):
        line += f"; waiting: {run['waiting']}"
    if run.get("failure_message"):
        line += f"; {run['failure_message']}"
    return line


class LineView:
    """A line when the status changes, and now and then while results come in. How it ended is for the caller to say."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said: tuple[str, int, str | None] | None = None
        self._at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, run: Json) -> None:
        news = (run["status"], done(run) + int(run.get("cancelled") or 0), run.get("waiting"))
        if news == self._said or run["status"] in ENDED:
            return
        changed = self._said is None or self._said[0] != news[0]
        if changed or time.monotonic() - self._at >= PLAIN_SECONDS:
            self.say(status_line(run))
            self._said, self._at = news, time.monotonic()

    def say(self, text: str) -> None:
        if self._console.stderr:
            notice(text)
        else:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class BarView:
    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[counts]}", style="dim", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._bars: dict[int, TaskID] = {}
        self._head: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._head is not None:
            self._progress.stop()

    def show(self, run: Json) -> None:
        """Nothing of a run that is over at the first look: its result says all."""
        if self._head is None:
            if run["status"] in ENDED:
                return
            self._head = self._progress.add_task(run["name"], total=None, counts="")
            self._progress.start()
        for agent in parts(run, "agent_results"):
            index = int(agent["agent"])
            if index not in self._bars:
                self._bars[index] = self._progress.add_task(agent_label(agent), total=None, counts="")
            self._progress.update(
                self._bars[index],
                total=agent["expected"] or None,
                completed=done(agent),
                counts=outcome_counts(agent),
            )
        self._progress.update(
            self._head,
            description=run["name"],
            total=run["expected"] or None,
            completed=done(run),
            counts=run.get("waiting") or run["status"],
        )

    def say(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)
