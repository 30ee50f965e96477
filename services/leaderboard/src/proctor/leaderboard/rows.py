"""The rows of `runs` and `agents`, from a run's model as it is."""

from collections import Counter
from decimal import Decimal
from typing import Any

from proctor.contracts.events import Budget, BudgetReached
from proctor.contracts.states import AttemptStatus
from proctor.leaderboard.agent import AgentModel
from proctor.leaderboard.run import RunModel

Columns = dict[str, Any]


def run_row(model: RunModel) -> Columns:
    """Columns of `runs`. Raises ValueError for a run that was never submitted."""
    state, plan, submitted = model.state, model.state.planned, model.state.submitted
    if submitted is None:
        raise ValueError(f"run {state.run} has events before run.submitted; its log is damaged")
    return {
        "workspace": state.workspace,
        "run": state.run,
        "name": submitted.name,
        "benchmark": submitted.benchmark,
        "benchmark_key": submitted.benchmark_key,
        "benchmark_name": submitted.benchmark_name,
        "version": submitted.version,
        "manifest": submitted.manifest,
        "pass_threshold": Decimal(submitted.pass_threshold),
        "reward_key": submitted.reward_key,
        "status": state.status.value,
        "task_set": plan.task_set if plan else None,
        "lock": plan.lock if plan else None,
        "agents": len(model.agents),
        "tasks": plan.tasks if plan else None,
        "attempts_per_task": submitted.config.execution.attempts_per_task,
        "expected": state.expected,
        **_outcomes(state.tally),
        "in_progress": state.in_slots,
        "stop_requested": state.stop is not None,
        "stop_reason": state.stop.reason if state.stop else None,
        "waiting": None if state.ended else state.waiting,
        "failure_kind": state.failure.kind if state.failure else None,
        "failure_message": state.failure.message if state.failure else None,
        "submitted_by": submitted.submitted_by,
        "submitted_at": model.submitted_at,
        "started_at": model.started_at,
        "ended_at": model.ended_at,
        "cleaned_at": model.cleaned_at,
        "config": submitted.config.model_dump(mode="json"),
        "paused": state.paused.reason if state.paused and not state.ended else None,
        "budget": _document(submitted.budget),
        "budget_reached": _document(state.budget_reached),
        "rates": submitted.rates.model_dump(),
        "rerun_of": submitted.rerun_of,
        "reused_from": state.reused.source if state.reused else None,
        "reused": state.reused.count if state.reused else 0,
        "dispatches": state.dispatches,
        "submitted_position": state.submitted_sequence,
        "position": model.position,
    }


def agent_rows(model: RunModel) -> list[Columns]:
    """Columns of `agents`, but for the metrics, which follow from `results`."""
    return [_agent_row(model, index, agent) for index, agent in enumerate(model.agents)]


def _agent_row(model: RunModel, index: int, agent: AgentModel) -> Columns:
    return {
        "workspace": model.state.workspace,
        "run": model.state.run,
        "agent": index,
        **agent.name._asdict(),
        "status": agent.status(model.expected_each, model.state.status),
        "expected": model.expected_each,
        **_outcomes(agent.tally),
        "in_progress": agent.in_progress,
        "tries_ended": agent.tries_ended,
        "tokens_reported": agent.tokens_reported,
        "cost_reported": agent.cost_reported,
        "input_tokens": agent.input_tokens,
        "cached_tokens": agent.cached_tokens,
        "output_tokens": agent.output_tokens,
        "cost_usd": agent.cost_usd,
        "sandbox_seconds": agent.sandbox_seconds,
        "cpu_seconds": agent.cpu_seconds,
        "memory_peak_bytes": agent.memory_peak_bytes,
        "sandbox_cost_usd": agent.sandbox_cost_usd,
        "reused": agent.reused,
        "position": agent.position,
    }


def _document(content: Budget | BudgetReached | None) -> Columns | None:
    return content.model_dump(exclude={"type"}) if content else None


def _outcomes(tally: Counter[AttemptStatus]) -> Columns:
    return {
        "passed": tally[AttemptStatus.PASSED],
        "failed": tally[AttemptStatus.FAILED],
        "errored": tally[AttemptStatus.ERRORED],
        "cancelled": tally[AttemptStatus.CANCELLED],
    }
