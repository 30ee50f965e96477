"""The leaderboard: a board document as rows of text, and those as a table."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from proctor.cli.display.figures import count, dollars, interval, percent, provisional, rate, seconds
from proctor.cli.display.progress import agent_label
from proctor.cli.display.table import FittedTable, make_table
from proctor.cli.documents import Json, part, parts, texts

RULES: Final = {
    "run_not_finished": "its run didn't finish",
    "agent_not_finished": "the agent didn't finish",
    "task_subset": "ran only some of the tasks",
    "missing_results": "results are missing",
    "no_pass_at_1": "has no pass@1",
    "superseded_in_run": "a later agent of the same run counts; give each a name",
}

"""In the order in which a person looks for the reason, which is the order of the board's own rules."""


class Row(NamedTuple):
    rank: str
    entrant: str
    pass_at_1: str
    interval: str
    pass_at_k: str
    cost: str
    time: str
    tokens: str
    run: str


def board_rows(board: Json) -> list[Row]:
    """In the order of pass@1. `=` before a rank: not told apart from the best by the statistics."""
    entries = {row["entrant"]: row for row in parts(board, "rows")}
    k = board_k(board)
    standings = parts(part(part(board, "ranks"), "pass_at_1"), "standings")
    return [_row(entries[standing["entrant"]], standing, k) for standing in standings if standing["entrant"] in entries]


def board_k(board: Json) -> int | None:
    """The k of the pass@k column; None where every task was tried once."""
    k: int | None = part(part(board, "ranks"), "pass_at_k").get("k")
    return k if k and k > 1 else None


def _row(entry: Json, standing: Json, k: int | None) -> Row:
    metrics = part(entry, "metrics")
    at_k = next((one for one in parts(metrics, "pass_at_k") if one["k"] == k), None)
    rank = standing.get("rank")
    return Row(
        rank="-" if rank is None else f"={rank}" if standing.get("tied") else f"{rank}",
        entrant=agent_label(entry),
        pass_at_1=rate(metrics.get("pass_at_1")),
        interval=interval(metrics.get("pass_at_1")),
        pass_at_k=percent(at_k["value"] if at_k else None),
        cost=dollars(_mean(metrics, "cost_per_task")),
        time=seconds(_mean(metrics, "time_per_task")),
        tokens=count(_mean(metrics, "tokens_per_task")),
        run=entry.get("run_name") or entry.get("run") or "-",
    )


def _mean(metrics: Json, name: str) -> float | None:
    return part(metrics, name).get("value")


def board_table(board: Json) -> FittedTable:
    """Columns without a single value are left out."""
    k = board_k(board)
    titles = {
        "rank": "Rank",
        "entrant": "Entrant",
        "pass_at_1": "Pass@1",
        "interval": "95% interval",
        "pass_at_k": f"Pass@{k}",
        "cost": "Cost/task",
        "time": "Time/task",
        "tokens": "Tokens/task",
        "run": "Run",
    }
    optional = [titles[name] for name in ("pass_at_k", "cost", "time", "tokens")]
    right = [title for name, title in titles.items() if name not in {"entrant", "run"}]
    dispensable = [titles[name] for name in ("run", "tokens", "time", "cost", "pass_at_k", "interval")]
    return make_table(
        list(titles.values()),
        board_rows(board),
        right=right,
        optional=optional,
        dispensable=dispensable,
        name=titles["entrant"],
    )


def board_notes(board: Json) -> Iterator[str]:
    """What the table alone would leave open. Of the rules that keep an entrant off the board, the first is enough."""
    if any(row.rank.startswith("=") for row in board_rows(board)):
        yield f"= tied: {_why_tied(board)}"
    yield from provisional(part(row, "metrics").get("pass_at_1") for row in parts(board, "rows"))
    for entry in parts(board, "ineligible"):
        rule = next(iter(texts(entry, "rules")), "")
        where = f"{agent_label(entry)} in {entry.get('run_name') or entry.get('run')}"
        yield f"not ranked: {where}: {RULES.get(rule, rule)}"


def _why_tied(board: Json) -> str:
    standings = parts(part(part(board, "ranks"), "pass_at_1"), "standings")
    tests = [part(standing, "comparison") for standing in standings if standing.get("tied")]
    if any(test.get("too_few_tasks") for test in tests):
        return f"too few tasks to separate them ({max(test.get('tasks', 0) for test in tests)})"
    return "the statistics can't tell it from the best"
