"""A benchmark as its read model shows it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from proctor.contracts.folds.benchmark import BenchmarkState, apply
from proctor.contracts.records import Recorded


@dataclass(slots=True)
class BenchmarkModel:
    state: BenchmarkState
    added_at: datetime | None = None
    updated_at: datetime | None = None
    position: int = 0

    def step(self, record: Recorded) -> bool:
        """Fold one record in; False when it changed nothing."""
        if not apply(self.state, record):
            return False
        self.added_at = self.added_at or record.recorded_at
        self.updated_at, self.position = record.recorded_at, record.sequence
        return True

    def row(self) -> dict[str, Any]:
        """Columns of `benchmarks`."""
        state, added, source, version = self.state, self.state.added, self.state.source, self.state.version
        if added is None or source is None:
            raise ValueError(f"benchmark {state.benchmark} has events before benchmark.added; its log is damaged")
        return {
            "workspace": state.workspace,
            "benchmark": state.benchmark,
            "key": added.key,
            "name": added.name,
            "description": added.description,
            "managed": added.managed,
            "default_harness": added.default_harness,
            "pass_threshold": Decimal(added.pass_threshold),
            "reward_key": added.reward_key,
            "judge": added.judge.model_dump() if added.judge else None,
            "source": source.model_dump(mode="json"),
            "status": state.status.value,
            "sync_total": state.total,
            "sync_done": state.synced,
            "error": state.error,
            "version": version.version if version else None,
            "manifest": version.manifest if version else None,
            "task_count": version.tasks if version else None,
            "unavailable_count": version.unavailable if version else None,
            "category_count": version.categories if version else None,
            "added_by": added.added_by,
            "added_at": self.added_at,
            "updated_at": self.updated_at,
            "position": self.position,
        }
