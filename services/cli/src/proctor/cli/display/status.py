"""The platform while it starts and runs: a table that changes in place in a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from proctor.cli.platform.supervisor import Child, Status

_STYLES: Final = {
    Status.STARTING: "dim",
    Status.READY: "green",
    Status.RESTARTING: "yellow",
    Status.GIVEN_UP: "bold red",
    Status.STOPPED: "dim",
}
_MARKS: Final = {
    Status.STARTING: "…",
    Status.READY: "✓",
    Status.RESTARTING: "↻",
    Status.GIVEN_UP: "✗",
    Status.STOPPED: "·",
}
_QUIET: Final = {Status.STARTING, Status.STOPPED}


class StatusView:
    """Inside `with`: the start. Afterwards `tell` says only what goes wrong."""

    def __init__(self, console: Console, *, lines: bool = True) -> None:
        self._console = console
        self._lines = lines
        self._children: dict[str, Child] = {}
        self._troubled: set[str] = set()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=12, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        self._live, self._lines = None, False

    def tell(self, child: Child) -> None:
        self._children[child.program.name] = child
        if self._live:
            self._live.update(Group(*(_line(one) for one in self._children.values())))
        elif self._worth_a_line(child):
            self._console.print(_line(child), soft_wrap=True)

    def _worth_a_line(self, child: Child) -> bool:
        name = child.program.name
        if child.status in {Status.RESTARTING, Status.GIVEN_UP}:
            self._troubled.add(name)
            return True
        recovered = child.status is Status.READY and name in self._troubled
        self._troubled.discard(name)
        return recovered or (self._lines and child.status not in _QUIET)


def _line(child: Child) -> Text:
    style = _STYLES[child.status]
    line = Text.assemble((f"{_MARKS[child.status]} ", style), f"{child.program.name:<18}", (child.status.value, style))
    if child.status is Status.RESTARTING:
        line.append(f" ({child.deaths.row}), last: {child.reason}, see {child.log}", "dim")
    elif child.status is Status.GIVEN_UP:
        line.append(f"  {child.reason}", "dim")
    return line
