"""The JSON of benchmarks, runs and results, from a row of a read model or, before there is one, from the log."""

from collections.abc import Mapping
from typing import Any, Final

from proctor.contracts.folds.benchmark import BenchmarkState
from proctor.contracts.folds.run import RunState
from proctor.gateway.folds import Folded
from proctor.gateway.marks import UNMARKED

_NOT_IN_RUN: Final = ("workspace", "run", "config", "manifest", "lock", "submitted_position")
_NOT_IN_BENCHMARK: Final = ("benchmark", "manifest", "removed")
_NOT_IN_RESULT: Final = ("workspace", "run", "valid_from", "valid_to")
_UNKNOWN_OF_RUN: Final = (
    "task_set",
    "started_at",
    "ended_at",
    "cleaned_at",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "cost_usd",
    "sandbox_seconds",
    "best_pass_at_1",
    "cpu_seconds",
    "memory_peak_bytes",
    "sandbox_cost_usd",
)


def _without(row: Mapping[str, Any], left_out: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in left_out}


def benchmark(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["benchmark"], **_without(row, _NOT_IN_BENCHMARK)}


def run(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["run"], **_without(row, _NOT_IN_RUN)}


def agent(row: Mapping[str, Any]) -> dict[str, Any]:
    return _without(row, ("workspace", "run"))


def result(row: Mapping[str, Any]) -> dict[str, Any]:
    return _without(row, _NOT_IN_RESULT)


def run_from_log(folded: Folded[RunState]) -> dict[str, Any]:
    """A run that the read models don't know yet, so nothing of it can have been tried."""
    state = folded.state
    submitted, planned = state.submitted, state.planned
    assert submitted is not None  # noqa: S101 - `run_head` folds submitted runs only
    return {
        "id": state.run,
        "name": submitted.name,
        "benchmark": submitted.benchmark,
        "benchmark_key": submitted.benchmark_key,
        "benchmark_name": submitted.benchmark_name,
        "version": submitted.version,
        "pass_threshold": submitted.pass_threshold,
        "reward_key": submitted.reward_key,
        "status": state.status,
        **dict.fromkeys(_UNKNOWN_OF_RUN),
        "agents": len(submitted.config.agents),
        "tasks": planned.tasks if planned else None,
        "attempts_per_task": submitted.config.execution.attempts_per_task,
        "expected": state.expected,
        **dict.fromkeys(("passed", "failed", "errored", "cancelled", "in_progress"), 0),
        "stop_requested": state.stop is not None,
        "stop_reason": state.stop.reason if state.stop else None,
        "waiting": state.waiting,
        "failure_kind": state.failure.kind if state.failure else None,
        "failure_message": state.failure.message if state.failure else None,
        "submitted_by": submitted.submitted_by,
        "submitted_at": folded.since,
        "position": state.last_sequence,
        "quarantined": False,
        "paused": state.paused.reason if state.paused else None,
        "budget": submitted.budget.model_dump() if submitted.budget else None,
        "budget_reached": state.budget_reached.model_dump(exclude={"type"}) if state.budget_reached else None,
        "rates": submitted.rates.model_dump(),
        "rerun_of": submitted.rerun_of,
        "reused_from": state.reused.source if state.reused else None,
        "reused": state.reused.count if state.reused else 0,
        "dispatches": 0,
        **UNMARKED,
    }


def benchmark_from_log(folded: Folded[BenchmarkState]) -> dict[str, Any]:
    state = folded.state
    added, version = state.added, state.version
    assert added is not None  # noqa: S101 - `benchmark_head` folds added benchmarks only
    return {
        "id": state.benchmark,
        "workspace": state.workspace,
        **added.model_dump(exclude={"type", "benchmark", "source"}),
        "source": state.source.model_dump() if state.source else None,
        "status": state.status,
        "sync_total": state.total,
        "sync_done": state.synced,
        "error": state.error,
        "version": version.version if version else None,
        "task_count": version.tasks if version else None,
        "unavailable_count": version.unavailable if version else None,
        "category_count": version.categories if version else None,
        "added_at": folded.since,
        "updated_at": folded.since,
        "position": state.last_sequence,
    }
