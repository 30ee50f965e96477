"""Two agents beside one another."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from proctor.cli.display.figures import DASH, count, dollars, percent, seconds
from proctor.cli.display.progress import agent_label
from proctor.cli.display.table import FittedTable, make_table
from proctor.cli.documents import Json, part, parts

_MEASURES: Final[dict[str, tuple[str, Callable[[float | None], str]]]] = {
    "pass_at_1": ("Pass@1", percent),
    "cost": ("Cost/task", dollars),
    "time": ("Time/task", seconds),
    "tokens": ("Tokens/task", count),
}


def comparison(pair: Json, *, every: bool, same: int = 0) -> Iterator[str | FittedTable]:
    """Lines and tables, from the whole to the tasks: those whose pass rate differs, unless `every` is wanted. `same`:
    how many results the two share."""
    tasks = part(pair, "tasks")
    yield f"{_side(part(pair, 'other'))} against {_side(part(pair, 'baseline'))}"
    yield _counts(tasks)
    if same:
        measured = sum(part(row, "other")["made"] for row in parts(pair, "rows"))
        yield f"{measured} results in the other; {same} of them are the same results, taken over"
    yield from _measures(part(pair, "measures"))
    rows = [row for row in parts(pair, "rows") if every or row["difference"]]
    if rows:
        yield make_table(
            ["Task", "Difference", "Baseline", "Other", "Time", "Cost"],
            map(_row, rows),
            right=["Difference", "Baseline", "Other", "Time", "Cost"],
            optional=["Time", "Cost"],
            dispensable=["Cost", "Time"],
        )
    elif tasks["common"]:
        yield "no task's pass rate differs"


def alone(runs: Sequence[Json], pairs: Sequence[Json]) -> Iterator[str]:
    """A line that names the agents that no pair has."""
    paired = {(side["run"], side["agent"]) for pair in pairs for side in (pair["baseline"], pair["other"])}
    left = [
        f"{agent_label(agent)} of {run['name']}"
        for run in runs
        for agent in parts(run, "agent_results")
        if (run["id"], agent["agent"]) not in paired
    ]
    if left:
        yield f"not compared, no partner: {', '.join(left)}"


def _side(about: Json) -> str:
    return f"{about['run_name']} ({about['entrant']})"


def _counts(tasks: Json) -> str:
    told = {
        "common": "tasks in both",
        "complete": "of them with every result, which the figures are of",
        "changed": "left out, their content changed",
        "baseline_only": "in the baseline alone",
        "other_only": "in the other alone",
    }
    always = {"common", "complete"}
    return "; ".join(f"{tasks[key]} {text}" for key, text in told.items() if tasks[key] or key in always)


def _measures(measures: Json) -> Iterator[FittedTable]:
    rows = [
        [
            label,
            shown(found["baseline"]),
            shown(found["other"]),
            _signed(found["difference"], shown),
            f"{_signed(found['low'], shown)} to {_signed(found['high'], shown)}" if found["low"] is not None else DASH,
            f"{found['p']:.3f}",
            str(found["tasks"]),
        ]
        for key, (label, shown) in _MEASURES.items()
        if (found := part(measures, key))
    ]
    if rows:
        columns = ["Measure", "Baseline", "Other", "Difference", "95% interval", "p", "Tasks"]
        yield make_table(columns, rows, right=columns[1:], optional=["95% interval"], dispensable=["Tasks"])


def _signed(value: float | None, shown: Callable[[float | None], str]) -> str:
    if value is None:
        return DASH
    return f"{'-' if value < 0 else '+'}{shown(abs(value))}"


def _row(row: Json) -> list[str]:
    first, second = part(row, "baseline"), part(row, "other")
    return [
        row["task"],
        _signed(row["difference"], percent),
        f"{first['passed']}/{first['made']}",
        f"{second['passed']}/{second['made']}",
        _change(first["time"], second["time"], seconds),
        _change(first["cost"], second["cost"], dollars),
    ]


def _change(first: float | None, second: float | None, shown: Callable[[float | None], str]) -> str:
    return DASH if first is None or second is None else f"{shown(first)} -> {shown(second)}"
