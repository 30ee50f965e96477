"""Runs in the shapes of the wire. `run` is one of `readmodel.shapes`, with its creator's name and e-mail beside."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from proctor.gateway.wire.addresses import run_address
from proctor.gateway.wire.benchmark_shapes import source_type
from proctor.gateway.wire.board import mean, model_label, rate

type Json = Mapping[str, Any]

OUTCOMES: Final = ("passed", "failed", "errored", "cancelled")


def summary(run: Json, site: str) -> dict[str, Any]:
    return {
        "id": run["id"],
        "name": run["name"],
        "status": run["status"],
        "benchmark_id": run["benchmark"],
        "benchmark_name": run["benchmark_name"],
        "agent_count": run["agents"],
        "best_pass_at_1": run["best_pass_at_1"],
        "ingested_results": _ingested(run),
        "expected_results": run["expected"],
        "creator_name": run.get("creator_name"),
        "creator_email": run.get("creator_email"),
        "created_at": run["submitted_at"],
        "started_at": run["started_at"],
        "completed_at": run["ended_at"],
        "platform_url": run_address(site, run["id"]),
    }


def detail(
    run: Json, *, managed: bool, scopes: Mapping[str, str], env: Sequence[Mapping[str, str]], site: str
) -> dict[str, Any]:
    """`env` has the environment of each agent, `scopes` says where the run's secrets come from."""
    agents: Sequence[Json] = run["agent_results"]
    return {
        "benchmark_run": {**summary(run, site), "stop_requested": run["stop_requested"]},
        "configuration": _configuration(run, managed=managed, scopes=scopes),
        "agents": [_agent(run["id"], agent, env) for agent in agents],
        "agent_metrics": [_metrics(run["id"], agent) for agent in agents if agent["metrics"]],
        "progress": {"ingested": _ingested(run), "expected": run["expected"]},
        "totals": {
            **{outcome: run[outcome] for outcome in OUTCOMES},
            "total_input_tokens": run["input_tokens"],
            "total_output_tokens": run["output_tokens"],
            "total_cost_usd": run["cost_usd"],
        },
    }


def submitted(run: Json, tasks: int, warnings: Sequence[str], site: str) -> dict[str, Any]:
    return {
        "id": run["id"],
        "name": run["name"],
        "status": run["status"],
        "created_at": run["submitted_at"],
        "workflow_id": f"benchmark-run/{run['id']}",
        "task_count": tasks,
        "platform_url": run_address(site, run["id"]),
        "warnings": list(warnings),
    }


def _ingested(run: Json) -> int:
    return sum(run[outcome] for outcome in OUTCOMES)


def _configuration(run: Json, *, managed: bool, scopes: Mapping[str, str]) -> dict[str, Any]:
    config: Json = run["config"]
    verifier = config["verifier"]["required"]
    return {
        "benchmark_id": run["benchmark"],
        "benchmark_name": run["benchmark_name"],
        "source_type": source_type(managed=managed),
        "source_ref": run["benchmark_key"],
        "resolved_version": run["version"],
        "resolved_digest": run["version"] if run["version"].startswith("sha256:") else None,
        "task_filters": _given(config["tasks"]),
        "config": {**_given(config["execution"]), **({"verifier_secrets": verifier} if verifier else {})},
        "resolved_secret_scopes": dict(scopes),
    }


def _given(section: Json) -> dict[str, Any]:
    return {key: value for key, value in section.items() if value is not None}


def _agent(run: str, agent: Json, env: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    metrics: Json = agent["metrics"] or {}
    index: int = agent["agent"]
    return {
        "id": _agent_id(run, agent),
        "agent_index": index,
        "name": agent["name"],
        "harness": agent["harness"],
        "model": agent["model"],
        "model_display_name": model_label(agent),
        "status": agent["status"],
        "aggregates": {
            "reported_cost_usd": agent["cost_usd"],
            "mean_duration_seconds": mean(metrics.get("time_per_task")),
            "tokens_per_task": mean(metrics.get("tokens_per_task")),
        },
        "environment_variables": dict(env[index]) if index < len(env) else {},
    }


def _metrics(run: str, agent: Json) -> dict[str, Any]:
    metrics: Json = agent["metrics"]
    return {
        "benchmark_run_agent_id": _agent_id(run, agent),
        "rank": metrics["rank"],
        "n_tasks": metrics["n_tasks"],
        "pass_at_1": rate(metrics["pass_at_1"]),
        "pass_at_k": [{"k": point["k"], **(rate(point) or {})} for point in metrics["pass_at_k"]],
    }


def _agent_id(run: str, agent: Json) -> str:
    return f"{run}-{agent['agent']}"
