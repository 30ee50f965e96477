"""One look for every table."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

type Cell = str | Text


def make_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[str] = ()) -> Table:
    """Columns named in `right` hold numbers. Cells are literal: no markup is read from them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        numeric = column in right
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
