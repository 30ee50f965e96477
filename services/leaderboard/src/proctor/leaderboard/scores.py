"""Results of one agent as the statistics take them, and the metrics they give."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, Final, NamedTuple

from proctor.contracts.outcomes import policy
from proctor.statistics import CurvePoint, Entrant, Mean, Metric, Rate, curve, mean, pass_at_1, rank

Json = dict[str, Any]


class Score(NamedTuple):
    """Columns of a result that enter a score; None is unknown. `counts` False is missing data, never a failure."""

    task: int
    category: str | None
    counts: bool
    passed: bool | None
    kind: str | None
    cost_usd: float | None
    agent_seconds: float | None
    input_tokens: int | None
    output_tokens: int | None

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


def entrant(
    name: str, *, finished: int, version: str, tasks: Sequence[str], attempts_per_task: int, scores: Iterable[Score]
) -> Entrant:
    """`tasks` names the whole selection in the run's order, `scores` come in any."""
    by_task: dict[int, list[Score]] = defaultdict(list)
    for score in scores:
        if score.counts:
            by_task[score.task].append(score)
    places = [by_task.get(index, []) for index in range(len(tasks))]
    return Entrant(
        name=name,
        finished=finished,
        version=version,
        attempts_per_task=attempts_per_task,
        tasks=tuple(tasks),
        successes=tuple(sum(score.passed is True for score in place) for place in places),
        attempts=tuple(len(place) for place in places),
        costs=tuple(_mean([score.cost_usd for score in place]) for place in places),
        times=tuple(_mean([score.agent_seconds for score in place]) for place in places),
        tokens=tuple(_mean([score.tokens for score in place]) for place in places),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known and len(known) == len(values) else None


def metrics(one: Entrant) -> Json:
    """What a board shows of an entrant."""
    points = curve(one.successes, one.attempts, one.attempts_per_task) if one.attempts_per_task > 1 else ()
    return {
        "provisional": not one.complete,
        "n_tasks": len(one.tasks),
        "attempts_per_task": one.attempts_per_task,
        "counted": sum(one.attempts),
        "expected": len(one.tasks) * one.attempts_per_task,
        "pass_at_1": _rate(pass_at_1(one.successes, one.attempts, one.attempts_per_task)),
        "pass_at_k": [_point(point, point.pass_at_k) for point in points],
        "pass_hat_k": [_point(point, point.pass_hat_k) for point in points],
        "cost_per_task": _per_task(one.costs),
        "time_per_task": _per_task(one.times),
        "tokens_per_task": _per_task(one.tokens),
    }


def run_metrics(one: Entrant, scores: Sequence[Score]) -> Json:
    """The same with what only a run's own page shows."""
    counted = [score for score in scores if score.counts]
    return {
        **metrics(one),
        "reported": {
            "cost": sum(score.cost_usd is not None for score in counted),
            "time": sum(score.agent_seconds is not None for score in counted),
            "tokens": sum(score.tokens is not None for score in counted),
        },
        "categories": _categories(counted, one.attempts_per_task),
        "failures": _failures(scores),
    }


def run_ranks(agents: Mapping[int, Entrant], *, ended: bool) -> dict[int, Json]:
    """Each agent's rank by pass@1 among those of its run, by the board's rule; none while the run goes on, since it
    would change with every result of the others. The entrants are named by their agent's index."""
    standings = rank(list(agents.values()), Metric.PASS_AT_1).standings if ended else ()
    found = {int(one.entrant): {"rank": one.rank, "tied": one.tied} for one in standings}
    return {agent: found.get(agent, {"rank": None, "tied": False}) for agent in agents}


def _categories(counted: Iterable[Score], attempts_per_task: int) -> list[Json]:
    """Of tasks with a counted result; a benchmark without categories has none."""
    by_category: dict[str, dict[int, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for score in counted:
        if score.category is not None:
            by_category[score.category][score.task].append(score)
    return [_category(name, by_category[name], attempts_per_task) for name in sorted(by_category)]


def _category(name: str, tasks: Mapping[int, Sequence[Score]], attempts_per_task: int) -> Json:
    passed = [sum(score.passed is True for score in place) for _, place in sorted(tasks.items())]
    made = [len(place) for _, place in sorted(tasks.items())]
    return {
        "name": name,
        "tasks": len(tasks),
        "counted": sum(made),
        "passed": sum(passed),
        "pass_at_1": _rate(pass_at_1(passed, made, attempts_per_task)),
    }


def _failures(scores: Iterable[Score]) -> list[Json]:
    kinds = Counter(score.kind for score in scores if score.kind is not None)
    return [
        {"kind": kind, "fault": policy(kind).fault.value, "count": count}
        for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    ]


WILSON: Final = "wilson"


def _rate(rate: Rate | None) -> Json | None:
    if rate is None:
        return None
    return {
        "value": rate.value,
        "ci_low": rate.low,
        "ci_high": rate.high,
        "n": rate.tasks,
        "n_eff": rate.n_eff,
        "method": WILSON,
        "provisional": rate.provisional,
    }


def _point(point: CurvePoint, rate: Rate) -> Json:
    return {"k": point.k, **(_rate(rate) or {})}


def _per_task(values: Sequence[float | None]) -> Json | None:
    found = mean(values)
    return _mean_json(found) if found else None


def _mean_json(found: Mean) -> Json:
    return {
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "tasks": found.tasks,
        "missing": found.missing,
    }
