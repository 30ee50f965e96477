"""A benchmark's fold: the last good version stays while syncs come, go and fail."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contracts.events import Event
from proctor.contracts.folds.benchmark import BenchmarkState, apply
from proctor.contracts.records import Recorded
from proctor.contracts.states import SyncStatus

BUNDLED = {"kind": "bundled", "name": "first-steps"}
UPLOAD = {"kind": "upload", "object": "upload/1", "origin": "mine"}
SYNCED = {"manifest": "m", "tasks": 3, "unavailable": 0, "categories": 1}
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "added": ("benchmark.added", {"benchmark": "b", "key": "b", "name": "b", "source": BUNDLED, "added_by": "o"}),
    "requested": ("benchmark.sync_requested", {"sync": "second", "source": UPLOAD, "requested_by": "o"}),
    "removed": ("benchmark.removed", {"removed_by": "o"}),
    **{
        f"{name} {sync}": (f"benchmark.{kind}", {"sync": sync, **content})
        for sync in ("first", "second")
        for name, kind, content in (
            ("started", "sync_started", {"total": 3}),
            ("page", "page_synced", {"page": 0, "synced": 2, "total": 3}),
            (
                "synced",
                "synced",
                {"version": f"v-{sync}", "manifest": "m", "tasks": 3, "unavailable": 0, "categories": 1},
            ),
            ("failed", "sync_failed", {"reason": "no tasks"}),
        )
    },
}


@pytest.fixture(scope="module")
def fold(make_event: Callable[..., Event]) -> Callable[..., BenchmarkState]:
    def run(*names: str, gap: int = 1) -> BenchmarkState:
        state = BenchmarkState("w", "b")
        for place, name in enumerate(names, 1):
            kind, content = STEPS[name]
            writer = "gateway" if name in {"added", "requested", "removed"} else "registry-sync"
            record = Recorded(
                sequence=place * gap,
                workspace="w",
                aggregate="benchmark",
                id="b",
                writer=writer,
                recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
                occurred_at=None,
                actor=None,
                event=make_event(kind, **content),
            )
            apply(state, record)
        return state

    return run


@pytest.mark.parametrize(
    ("names", "status", "version", "error"),
    [
        ("added", "pending", None, None),
        ("added, started first", "syncing", None, None),
        ("added, started first, page first", "syncing", None, None),
        ("added, started first, synced first", "ready", "v-first", None),
        ("added, failed first", "failed", None, "no tasks"),
        ("added, failed first, requested", "pending", None, "no tasks"),
        ("added, failed first, requested, started second", "syncing", None, None),
        ("added, synced first, requested", "pending", "v-first", None),
        ("added, synced first, requested, started second, failed second", "failed", "v-first", "no tasks"),
        ("added, synced first, requested, started second, synced second", "ready", "v-second", None),
        ("added, requested, synced first", "pending", None, None),
        ("added, requested, started second, failed first", "syncing", None, None),
        ("added, removed, started first, synced first", "removed", None, None),
        ("added, synced first, removed, requested", "removed", "v-first", None),
    ],
)
def test_where_syncs_lead(
    fold: Callable[..., BenchmarkState], names: str, status: str, version: str | None, error: str | None
) -> None:
    state = fold(*names.split(", "))
    assert (state.status, state.version and state.version.version, state.error) == (status, version, error)


def test_a_page_says_how_far_it_is(fold: Callable[..., BenchmarkState]) -> None:
    state = fold("added", "started first", "page first")
    assert (state.synced, state.total) == (2, 3)
    assert (fold("added", "page first").synced) == 0, "no page without a start"


def test_a_request_brings_its_own_source(fold: Callable[..., BenchmarkState]) -> None:
    source = fold("added", "requested").source
    assert source is not None
    assert source.model_dump() == UPLOAD


@settings(deadline=None)
@given(names=st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_a_repeat_right_after_its_event_changes_nothing(fold: Callable[..., BenchmarkState], names: list[str]) -> None:
    assert SyncStatus(fold(*names).status)
    doubled = fold(*(name for name in names for _ in range(2)))
    once = fold(*names, gap=2)
    once.writer_sequence = doubled.writer_sequence
    assert doubled == once


def test_what_we_wrote_is_known_before_the_fold_has_seen_it(make_event: Callable[..., Event]) -> None:
    """A writer that appends faster than it reads must not be set back by its own older events."""
    state = BenchmarkState("w", "b", writer_sequence=12)
    kind, content = STEPS["started first"]
    record = Recorded.model_construct(sequence=11, writer="registry-sync", event=make_event(kind, **content))
    apply(state, record)
    assert state.writer_sequence == 12
