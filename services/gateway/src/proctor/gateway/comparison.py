"""Two agents task by task, on the tasks that both ran. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from proctor.gateway.readmodel.comparison import Side
from proctor.statistics import Entrant, Metric, compare, measure

type Sides = tuple[Side, Side]

METRICS: Final = (Metric.PASS_AT_1, Metric.COST, Metric.TIME, Metric.TOKENS)


def compared(baseline: Side, other: Side, changed: Collection[str]) -> dict[str, Any]:
    """`changed`: tasks whose content isn't the same in both, which are left out. The tests are of the tasks with all
    attempts on both sides, the rows of all that both ran."""
    common = sorted((baseline.tasks.keys() & other.tasks.keys()) - set(changed))
    sides = (baseline, other)
    complete = [name for name in common if all(side.tasks[name].made == side.attempts_per_task for side in sides)]
    return {
        "baseline": baseline.about,
        "other": other.about,
        "tasks": {
            "common": len(common),
            "complete": len(complete),
            "changed": len(set(changed) & baseline.tasks.keys() & other.tasks.keys()),
            "baseline_only": len(baseline.tasks.keys() - other.tasks.keys()),
            "other_only": len(other.tasks.keys() - baseline.tasks.keys()),
        },
        "measures": {metric.value: _measured(sides, metric, complete) for metric in METRICS},
        "rows": sorted((_row(name, sides) for name in common), key=_regression),
    }


def _measured(sides: Sides, metric: Metric, complete: Sequence[str]) -> dict[str, Any] | None:
    """None where no task has the number on both sides."""
    known = [
        name for name in complete if metric is Metric.PASS_AT_1 or all(_known(side, name, metric) for side in sides)
    ]
    if not known:
        return None
    first, second = (_entrant(side, known) for side in sides)
    found, values = compare(second, first, metric), (measure(first, metric), measure(second, metric))
    return {
        "baseline": values[0].value if values[0] else None,
        "other": values[1].value if values[1] else None,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "method": found.method,
        "better": found.wins,
        "worse": found.losses,
        "equal": found.equal,
        "tasks": found.tasks,
        "ratio": found.ratio.median if found.ratio else None,
    }


def _known(side: Side, name: str, metric: Metric) -> bool:
    return getattr(side.tasks[name], metric.value) is not None


def _entrant(side: Side, names: Sequence[str]) -> Entrant:
    tasks = [side.tasks[name] for name in names]
    return Entrant(
        name="",
        finished=0,
        version="",
        attempts_per_task=side.attempts_per_task,
        tasks=tuple(names),
        successes=tuple(task.passed for task in tasks),
        attempts=tuple(task.made for task in tasks),
        costs=tuple(task.cost for task in tasks),
        times=tuple(task.time for task in tasks),
        tokens=tuple(task.tokens for task in tasks),
    )


def _row(name: str, sides: Sides) -> dict[str, Any]:
    first, second = (side.tasks[name] for side in sides)
    difference = None if first.rate is None or second.rate is None else second.rate - first.rate
    return {"task": name, "difference": difference, "baseline": first._asdict(), "other": second._asdict()}


def _regression(row: Mapping[str, Any]) -> tuple[bool, float, str]:
    """The worst first; those that can't be told last."""
    return row["difference"] is None, row["difference"] or 0.0, row["task"]
