"""A run for people: what it ran, what it used, and its agents."""

from collections.abc import Iterator, Mapping
from typing import Final

from proctor.cli.display.facts import Fact
from proctor.cli.display.figures import DASH, age, count, dollars, duration, interval, provisional, rate, seconds
from proctor.cli.display.progress import agent_label, done
from proctor.cli.display.table import FittedTable, make_table
from proctor.cli.documents import Json, part, parts, texts

_SHORT: Final = len("sha256:") + 12
"""Enough of a digest to tell two apart; --json has all of it."""


def run_facts(run: Json, names: Mapping[str, str]) -> Iterator[Fact]:
    """What isn't known or isn't so is empty. `names`: of other runs, by id."""
    rerun_of, reused_from = (names.get(run.get(key) or "", run.get(key)) for key in ("rerun_of", "reused_from"))
    yield "id", run["id"]
    yield "benchmark", run["benchmark_key"]
    yield "version", (run["version"] or "")[:_SHORT]
    yield "tasks", _tasks(run)
    yield "submitted", age(run["submitted_at"])
    yield "took" if run["ended_at"] else "runs for", duration(run["started_at"], run["ended_at"]).replace(DASH, "")
    yield "stop", (run.get("stop_reason") or "asked for") if run.get("stop_requested") else ""
    yield "cost", _cost(run)
    yield "sandboxes", _sandboxes(run)
    yield "tokens", _tokens(run)
    yield "budget", _budget(run)
    yield "reached", _reached(part(run, "budget_reached"))
    yield "reruns", rerun_of or ""
    yield "reused", f"{run['reused']} results of {reused_from}" if run.get("reused") else ""
    yield "tags", ", ".join(texts(run, "tags"))
    yield "note", " ".join((run.get("note") or "").split())
    yield "archived", age(run.get("archived_at")) if run.get("archived_at") else "yes" if run.get("archived") else ""


def _tasks(run: Json) -> str:
    if run.get("tasks") is None:
        return ""
    chosen = f" ({run['task_set']})" if run.get("task_set") else ""
    return f"{run['tasks']:,}{chosen}, {_counted(run['attempts_per_task'], 'attempt')} each"


def _cost(run: Json) -> str:
    of = zip(("models", "sandboxes"), _costs(run), strict=True)
    return ", ".join(f"{dollars(value)} for {what}" for what, value in of if value is not None)


def _costs(run: Json) -> tuple[float | None, float | None]:
    """Of models and of sandboxes, as far as they are known."""
    return run.get("cost_usd"), run.get("sandbox_cost_usd") if _priced(run) else None


def _priced(run: Json) -> bool:
    """Whether sandboxes cost anything here; without a price their 0 says nothing."""
    return any(part(run, "rates").values())


def _sandboxes(run: Json) -> str:
    wall, cpu, peak = (run.get(key) for key in ("sandbox_seconds", "cpu_seconds", "memory_peak_bytes"))
    said = (
        None if wall is None else seconds(wall),
        None if cpu is None else f"{seconds(cpu)} of CPU",
        None if peak is None else f"{peak / 2**20:,.0f} MiB at most",
    )
    return ", ".join(filter(None, said))


def _tokens(run: Json) -> str:
    known = (("input", "in"), ("cached", "of them cached"), ("output", "out"))
    figures = ((run.get(f"{key}_tokens"), word) for key, word in known)
    return ", ".join(f"{count(value)} {word}" for value, word in figures if value is not None)


def _budget(run: Json) -> str:
    """`$0.10 for the run, $500.00 in the month; used $0.22, 5 attempts`."""
    budget = part(run, "budget")
    limits = [
        f"{' and '.join(said)} {scope}"
        for key, scope in (("", "for the run"), ("month_", "in the month"))
        if (said := _amounts(budget.get(f"{key}usd"), budget.get(f"{key}attempts")))
    ]
    costs = [value for value in _costs(run) if value is not None]
    used = ", ".join(_amounts(sum(costs) if costs else None, run.get("dispatches")))
    return ", ".join(limits) + (f"; used {used}" if used else "") if limits else ""


def _amounts(usd: float | None, attempts: int | None) -> list[str]:
    said = (None if usd is None else dollars(usd), None if attempts is None else _counted(attempts, "attempt"))
    return [text for text in said if text]


def _reached(reached: Json) -> str:
    if not reached:
        return ""
    in_dollars = reached.get("unit") == "usd"
    used, limit = (dollars(value) if in_dollars else f"{value:,.0f}" for value in (reached["used"], reached["limit"]))
    return f"the {reached.get('scope')}'s budget: {used} of {limit}" + ("" if in_dollars else " attempts")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agents_table(run: Json) -> FittedTable | None:
    """A row for each agent of the run, once there are any."""
    agents = parts(run, "agent_results")
    if not agents:
        return None
    rows = [_agent_row(agent, priced=_priced(run)) for agent in agents]
    columns = ["Agent", "Status", "Done", "Cancelled", "Passed", "Errored", "Pass@1", "95% interval", "Time/task"]
    columns += ["Tokens", "Models", "Sandboxes"]
    optional = ["Cancelled", "Errored", "Time/task", "Tokens", "Models", "Sandboxes"]
    dispensable = [
        "Sandboxes",
        "Tokens",
        "Time/task",
        "Models",
        "95% interval",
        "Status",
        "Cancelled",
        "Errored",
        "Done",
    ]
    return make_table(columns, rows, right=columns[2:], optional=optional, dispensable=dispensable)


def agents_notes(run: Json) -> Iterator[str]:
    yield from provisional(part(agent, "metrics").get("pass_at_1") for agent in parts(run, "agent_results"))


def _agent_row(agent: Json, *, priced: bool) -> list[str]:
    metrics = part(agent, "metrics")
    tokens: list[int | None] = [agent.get("input_tokens"), agent.get("output_tokens")]
    return [
        agent_label(agent),
        agent["status"],
        f"{done(agent)}/{agent['expected']}",
        str(agent.get("cancelled") or DASH),
        str(agent["passed"]),
        str(agent["errored"] or DASH),
        rate(metrics.get("pass_at_1")),
        interval(metrics.get("pass_at_1")),
        seconds(part(metrics, "time_per_task").get("value")),
        count(None if None in tokens else sum(filter(None, tokens))),
        dollars(agent.get("cost_usd")),
        dollars(agent.get("sandbox_cost_usd") if priced else None),
    ]
