"""Benchmarks in the shapes of the wire."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.contracts.manifest import Manifest
from proctor.gateway.manifests import TaskSetHead
from proctor.gateway.wire.addresses import benchmark_address

type Row = Mapping[str, Any]

RUNNER_FAMILY: Final = "harbor"
_FAILED_SYNC: Final = "failed"


def source_type(*, managed: bool) -> str:
    return "osmosis_managed" if managed else "harbor_registry"


def heading(row: Row, task_sets: Sequence[TaskSetHead], site: str) -> dict[str, Any]:
    """What the list and the detail share. Before the task list is in, the count is that of the sync under way."""
    ready = row["status"] == "ready"
    return {
        "id": row["benchmark"],
        "name": row["name"],
        "description": row["description"],
        "source_type": source_type(managed=row["workspace"] == SYSTEM_WORKSPACE),
        "source_ref": row["key"],
        "source_url": None,
        "task_count": (row["task_count"] if ready else row["sync_total"]) or 0,
        "category_count": row["category_count"] or 0,
        "task_sets": [task_set._asdict() for task_set in task_sets],
        "sync_status": row["status"],
        "synced_task_count": (row["task_count"] if ready else row["sync_done"]) or 0,
        "sync_error": row["error"] if row["status"] == _FAILED_SYNC else None,
        "platform_url": benchmark_address(site, row["benchmark"]),
    }


def entry(row: Row, task_sets: Sequence[TaskSetHead], site: str) -> dict[str, Any]:
    return {
        **heading(row, task_sets, site),
        "run_count": row["run_count"],
        "running_count": row["running_count"],
        "last_run_at": row["last_run_at"],
        "last_run_status": row["last_run_status"],
        "last_run_name": row["last_run_name"],
        "creator_name": row["creator_name"],
    }


def detail(row: Row, task_sets: Sequence[TaskSetHead], manifest: Manifest, site: str) -> dict[str, Any]:
    judge: Mapping[str, Any] | None = row["judge"]
    categories = Counter(task.category for task in manifest.tasks if task.category)
    return {
        **heading(row, task_sets, site),
        "runner_family": RUNNER_FAMILY,
        "supports_harness": True,
        "requires_harness": row["default_harness"] is None,
        "default_harness": row["default_harness"],
        "requires_judge_model": judge is not None and judge["kind"] == "model",
        "requires_judge_api_key": judge is not None,
        "judge_model_default": judge["default_model"] if judge else None,
        "pass_threshold": float(row["pass_threshold"]),
        "categories": [{"name": name, "task_count": count} for name, count in sorted(categories.items())],
        "tasks": [
            {"name": task.name, "category": task.category, "difficulty": task.difficulty} for task in manifest.tasks
        ],
        "unavailable_tasks": _unavailable(manifest),
    }


def _unavailable(manifest: Manifest) -> dict[str, Any] | None:
    """The command keeps the names alone, so each task's own reason is beside them."""
    if not manifest.unavailable:
        return None
    reasons = {task.name: task.reason for task in manifest.unavailable}
    same = set(reasons.values())
    return {
        "reason": same.pop() if len(same) == 1 else f"{len(reasons)} tasks can't be run, for several reasons",
        "reasons": reasons,
        "tasks": [{"name": name, "category": None, "difficulty": None} for name in reasons],
    }
