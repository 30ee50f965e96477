"""A board of the leaderboard service as the entries that the osmosis command shows, in their order."""

from collections.abc import Mapping
from typing import Any

from proctor.gateway.wire.addresses import run_address

type Json = Mapping[str, Any]


def entries(board: Json, site: str) -> list[dict[str, Any]]:
    """Those that count, best first. The leader is at rank 1 and not tied; who can't be told from it shares the rank."""
    ranks: Json = board["ranks"].get("pass_at_1") or {"standings": []}
    standings = {standing["entrant"]: standing for standing in ranks["standings"]}
    return [_entry(row, standings.get(row["entrant"], {}), site) for row in board["rows"]]


def _entry(row: Json, standing: Json, site: str) -> dict[str, Any]:
    metrics: Json = row["metrics"]
    return {
        "rank": standing.get("rank"),
        "tied": bool(standing.get("tied")),
        "entrant": row["entrant"],
        "harness": row["harness"],
        "model": model_label(row),
        "task_set": row["task_set"],
        "pass_at_1": rate(metrics["pass_at_1"]),
        "pass_at_k": [{"k": point["k"], **(rate(point) or {})} for point in metrics["pass_at_k"]],
        "cost_per_task": mean(metrics["cost_per_task"]),
        "mean_duration_seconds": mean(metrics["time_per_task"]),
        "tokens_per_task": mean(metrics["tokens_per_task"]),
        "run": {"id": row["run"], "name": row["run_name"], "platform_url": run_address(site, row["run"])},
    }


def model_label(row: Json) -> str | None:
    """What tells the entrant from others of its harness."""
    endpoint, name = row.get("endpoint"), row.get("name")
    parts = [row["model"], endpoint and f"@ {endpoint}", name and f"({name})"]
    return " ".join(part for part in parts if part) or None


def rate(found: Json | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {key: found.get(key) for key in ("value", "ci_low", "ci_high", "n", "method")}


def mean(found: Json | None) -> float | None:
    return found["value"] if found else None
