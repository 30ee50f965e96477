"""A run's results by task and agent."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rich.text import Text

from proctor.cli.display.table import FittedTable, make_table
from proctor.cli.documents import Json

LETTERS: Final = {"passed": "P", "failed": "F", "errored": "E", "cancelled": "C", None: "."}
_STYLES: Final = {"P": "green", "F": "red", "E": "yellow", "C": "dim", ".": "dim"}


def results_grid(results: Iterable[Json]) -> dict[str, dict[int, str]]:
    """Task -> agent index -> a letter for each attempt, in the order of the attempts."""
    grid: dict[str, dict[int, str]] = defaultdict(dict)
    for result in sorted(results, key=lambda one: (one["task"], one["agent"], one["number"])):
        row = grid[result["task_name"]]
        row[result["agent"]] = row.get(result["agent"], "") + LETTERS.get(result["outcome"], "?")
    return dict(grid)


def results_table(results: Iterable[Json], agents: list[str]) -> FittedTable:
    grid = results_grid(results)
    rows = ([task, *(_letters(cells.get(index, "")) for index in range(len(agents)))] for task, cells in grid.items())
    return make_table(["Task", *agents], rows)


def _letters(text: str) -> Text:
    cell = Text()
    for letter in text:
        cell.append(letter, style=_STYLES.get(letter, ""))
    return cell
