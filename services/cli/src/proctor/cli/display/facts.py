"""Facts, one beside its label: folded there in a terminal, whole lines elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

type Fact = tuple[str, str]

_ENDLESS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    facts: tuple[Fact, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            width = max((len(label) for label, _ in self.facts), default=0)
            lines = Text("\n".join(f"{label:<{width}}  {text}" for label, text in self.facts))
            yield from console.render(lines, options.update(max_width=_ENDLESS))
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for label, text in self.facts:
            grid.add_row(Text(label), Text(text))
        yield grid


def make_facts(facts: Iterable[Fact]) -> Facts:
    """What isn't known, an empty text, is left out. All of it is literal: no markup is read."""
    return Facts(tuple((label, text) for label, text in facts if text))
