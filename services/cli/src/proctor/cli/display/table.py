"""One look for every table."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from proctor.cli.display.figures import DASH

type Cell = str | Text


def make_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Table:
    """Columns in `right` hold numbers; those in `optional` are left out when no row knows a value. The first column
    gives way when there is too little room. Cells are literal: no markup is read from them."""
    cells = [list(row) for row in rows]
    shown = [
        place
        for place, column in enumerate(columns)
        if column not in optional or any(row[place] != DASH for row in cells)
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place in shown:
        justify = "right" if columns[place] in right else "left"
        table.add_column(columns[place], justify=justify, no_wrap=place > 0, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in (row[place] for place in shown)))
    return table
