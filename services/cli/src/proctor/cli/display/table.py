"""One look for every table, also where there is little room: it never cuts a number without a sign."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from proctor.cli.display.figures import DASH

type Cell = str | Text

_ENDLESS: Final = 10_000
_LEAST_NAME: Final = 14
"""What a name may be folded to before columns are left out for it."""


@dataclass(frozen=True, slots=True)
class FittedTable:
    """`dispensable`: columns that may be left out, the first to go first. `name`: the column that may be folded. Where
    even the rest doesn't fit, each row becomes a block of lines. Away from a terminal the width doesn't matter."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    right: frozenset[str]
    dispensable: tuple[str, ...]
    name: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width if console.is_terminal else _ENDLESS
        for gone in range(len(self.dispensable) + 1):
            left_out = self.dispensable[:gone]
            if self._least_width(console, left_out) <= room:
                yield from console.render(self._table(left_out), options.update(max_width=room))
                if left_out:
                    yield Text(f"no room for {', '.join(left_out)}", "dim")
                return
        yield from self._blocks()

    def _table(self, left_out: Sequence[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        places = [place for place, column in enumerate(self.columns) if column not in left_out]
        for column in (self.columns[place] for place in places):
            justify = "right" if column in self.right else "left"
            table.add_column(column, justify=justify, no_wrap=column != self.name, overflow="fold")
        for row in self.rows:
            table.add_row(*(row[place] for place in places))
        return table

    def _least_width(self, console: Console, left_out: Sequence[str]) -> int:
        whole = Measurement.get(console, console.options.update(max_width=_ENDLESS), self._table(left_out)).maximum
        if self.name in left_out:
            return whole
        place = self.columns.index(self.name)
        longest = max([len(self.name), *(row[place].cell_len for row in self.rows)])
        return whole - max(0, longest - _LEAST_NAME)

    def _blocks(self) -> Iterable[Text]:
        width = max(map(len, self.columns))
        for number, row in enumerate(self.rows):
            if number:
                yield Text("")
            for column, cell in zip(self.columns, row, strict=True):
                yield Text.assemble((f"{column:<{width}}  ", "bold"), cell)


def make_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    optional: Sequence[str] = (),
    dispensable: Sequence[str] = (),
    name: str | None = None,
) -> FittedTable:
    """Columns in `right` hold numbers; those in `optional` are left out when no row knows a value. `name` is the first
    column where it isn't given. Cells are literal: no markup is read from them."""
    cells = [list(row) for row in rows]
    places = [
        place
        for place, column in enumerate(columns)
        if column not in optional or any(str(row[place]) != DASH for row in cells)
    ]
    shown = tuple(columns[place] for place in places)
    return FittedTable(
        columns=shown,
        rows=tuple(tuple(_text(row[place]) for place in places) for row in cells),
        right=frozenset(right),
        dispensable=tuple(column for column in dispensable if column in shown),
        name=name or columns[0],
    )


def _text(cell: Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else cell
