"""A benchmark's state: its source, the version that is ready, and the sync under way beside it."""

from dataclasses import dataclass

from proctor.contracts.events import (
    BenchmarkAdded,
    BenchmarkRemoved,
    PageSynced,
    Synced,
    SyncFailed,
    SyncRequested,
    SyncStarted,
)
from proctor.contracts.events.benchmark import Source
from proctor.contracts.records import Recorded
from proctor.contracts.states import SyncStatus


@dataclass(slots=True)
class BenchmarkState:
    """`version` stays that of the last good sync while a refresh runs or after it failed. `sync` names the sync
    that is wanted: the id of a request, or `first`. `writer_sequence` is what the next append of registry-sync is
    guarded with; the writer itself may be ahead of the fold."""

    workspace: str
    benchmark: str
    added: BenchmarkAdded | None = None
    source: Source | None = None
    status: SyncStatus = SyncStatus.PENDING
    sync: str = "first"
    total: int = 0
    synced: int = 0
    version: Synced | None = None
    error: str | None = None
    last_sequence: int = 0
    writer_sequence: int = 0


def apply(state: BenchmarkState, record: Recorded) -> bool:
    """Fold one record in. False when it changed nothing."""
    if record.sequence <= state.last_sequence:
        return False
    state.last_sequence = record.sequence
    if record.writer == "registry-sync":
        state.writer_sequence = max(state.writer_sequence, record.sequence)
    if state.status is SyncStatus.REMOVED:
        return False
    return _apply(state, record.event)


def _apply(state: BenchmarkState, event: object) -> bool:
    match event:
        case BenchmarkAdded() if state.added is None:
            state.added, state.source = event, event.source
        case SyncRequested():
            state.sync, state.source = event.sync, event.source
            state.status, state.total, state.synced = SyncStatus.PENDING, 0, 0
        case SyncStarted() if event.sync == state.sync:
            state.status, state.total, state.synced, state.error = SyncStatus.SYNCING, event.total, 0, None
        case PageSynced() if event.sync == state.sync and state.status is SyncStatus.SYNCING:
            state.synced, state.total = event.synced, event.total
        case Synced() if event.sync == state.sync:
            state.status, state.version, state.error = SyncStatus.READY, event, None
        case SyncFailed() if event.sync == state.sync:
            state.status, state.error = SyncStatus.FAILED, event.reason
        case BenchmarkRemoved():
            state.status = SyncStatus.REMOVED
        case _:
            return False
    return True
