"""The columns of both tables, in their order. A new one is added at the end of its table's fixed part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from proctor.contracts.manifest import ManifestTask

type Row = Mapping[str, Any]

RESULTS: Final[dict[str, str]] = {
    "identity": "identity",
    "agent_index": "agent",
    "agent_name": "agent_name",
    "harness": "harness",
    "model": "model",
    "endpoint": "endpoint",
    "task": "task_name",
    "category": "category",
    "difficulty": "difficulty",
    "attempt": "number",
    "status": "status",
    "outcome": "outcome",
    "error_kind": "kind",
    "fault": "fault",
    "message": "message",
    "score": "score",
    "threshold": "threshold",
    "passed": "passed",
    "counts": "counts",
    "rewards": "rewards",
    "step_rewards": "step_rewards",
    "verifier_mode": "verifier_mode",
    "tries": "tries",
    "redispatches": "redispatches",
    "task_digest": "task_digest",
    "image": "image",
    "backend": "backend",
    "input_tokens": "input_tokens",
    "cached_tokens": "cached_tokens",
    "output_tokens": "output_tokens",
    "cost_usd": "cost_usd",
    "agent_steps": "agent_steps",
    "start_seconds": "start_seconds",
    "setup_seconds": "setup_seconds",
    "agent_seconds": "agent_seconds",
    "verifier_startup_seconds": "verifier_startup_seconds",
    "verifier_transfer_seconds": "verifier_transfer_seconds",
    "verifier_run_seconds": "verifier_run_seconds",
    "verifier_parse_seconds": "verifier_parse_seconds",
    "sandbox_seconds": "sandbox_seconds",
    "sandbox_use": "sandbox_use",
    "artifacts_cut": "artifacts_cut",
    "started_at": "started_at",
    "finished_at": "finished_at",
    "reused_run": "reused_run",
    "reused_attempt": "reused_attempt",
    "run_id": "run",
}
"""Column -> where its value is in a result joined with its agent and its task."""

_OF_RUN: Final[dict[str, str]] = {
    "run_id": "run",
    "run_name": "name",
    "benchmark": "benchmark_key",
    "benchmark_name": "benchmark_name",
    "version": "version",
    "task_set": "task_set",
    "run_status": "status",
    "lock_digest": "lock_digest",
    "pass_threshold": "pass_threshold",
    "submitted_at": "submitted_at",
    "started_at": "started_at",
    "ended_at": "ended_at",
}
_OF_AGENT: Final[dict[str, str]] = {
    "agent_index": "agent",
    "agent_name": "name",
    "harness": "harness",
    "model": "model",
    "endpoint": "endpoint",
    "entrant": "entrant",
    "agent_status": "status",
    "expected": "expected",
    "passed": "passed",
    "failed": "failed",
    "errored": "errored",
    "cancelled": "cancelled",
    "reused": "reused",
}
_OF_METRICS: Final = ("counted", "provisional", "rank", "tied", "n_tasks", "attempts_per_task")
_OF_TRIES: Final = (
    "tries_ended",
    "tokens_reported",
    "cost_reported",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "cost_usd",
    "sandbox_seconds",
    "cpu_seconds",
    "memory_peak_bytes",
    "sandbox_cost_usd",
)
_PER_TASK: Final = ("cost_per_task", "time_per_task", "tokens_per_task")
_CURVES: Final = ("pass_at", "pass_hat")
_UNKNOWN: Final[dict[str, Any]] = {}


def result_cells(row: Row, agent: Row, task: ManifestTask | None) -> list[Any]:
    """`task` as the run's lock has it; None when that is no longer stored."""
    joined = {
        **row,
        "agent_name": agent["name"],
        "harness": agent["harness"],
        "model": agent["model"],
        "endpoint": agent["endpoint"],
        "task_digest": task.digest if task else None,
        "verifier_mode": task.verifier_mode if task else None,
    }
    return [joined[key] for key in RESULTS.values()]


def summary_header(attempts: int) -> list[str]:
    """The curves have columns from k = 2 to the run's attempts per task, so a run's header never changes."""
    return [
        *_OF_RUN,
        *_OF_AGENT,
        *_OF_METRICS,
        *_rate_names("pass_at_1"),
        *(f"{name}{part}" for name in _PER_TASK for part in ("", "_low", "_high", "_n")),
        *_OF_TRIES,
        "position",
        "figures_position",
        *(name for curve in _CURVES for k in range(2, attempts + 1) for name in _rate_names(f"{curve}_{k}")),
    ]


def summary_cells(run: Row, agent: Row, attempts: int, position: int) -> list[Any]:
    metrics = cast("dict[str, Any]", agent["metrics"] or _UNKNOWN)
    return [
        *(run[key] for key in _OF_RUN.values()),
        *(agent[key] for key in _OF_AGENT.values()),
        *(metrics.get(key) for key in _OF_METRICS),
        *_rate(metrics.get("pass_at_1")),
        *(value for name in _PER_TASK for value in _mean(metrics.get(name))),
        *(agent[key] for key in _OF_TRIES),
        position,
        agent["metrics_position"] if metrics else None,
        *(value for curve in _CURVES for value in _points(metrics.get(f"{curve}_k"), attempts)),
    ]


def _rate_names(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high", f"{name}_n", f"{name}_method"]


def _rate(rate: Row | None) -> list[Any]:
    return [(rate or _UNKNOWN).get(key) for key in ("value", "ci_low", "ci_high", "n", "method")]


def _mean(mean: Row | None) -> list[Any]:
    return [(mean or _UNKNOWN).get(key) for key in ("value", "ci_low", "ci_high", "tasks")]


def _points(points: Sequence[Row] | None, attempts: int) -> Iterator[Any]:
    by_k = {point["k"]: point for point in points or ()}
    for k in range(2, attempts + 1):
        yield from _rate(by_k.get(k))
