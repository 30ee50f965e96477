"""Events of a benchmark and its syncs."""

from typing import Annotated, Literal

from pydantic import Field

from proctor.contracts.ids import Token
from proctor.contracts.judge import JudgeRule
from proctor.contracts.work import Frozen


class UploadSource(Frozen):
    """A dataset packed by the client; `object` names the archive."""

    kind: Literal["upload"] = "upload"
    object: str
    origin: str


class BundledSource(Frozen):
    """A dataset that ships with Proctor, by its name in the catalogue."""

    kind: Literal["bundled"] = "bundled"
    name: str


Source = Annotated[UploadSource | BundledSource, Field(discriminator="kind")]


class BenchmarkAdded(Frozen):
    """`pass_threshold` is a decimal in text. `judge` is None where no model judges."""

    type: Literal["benchmark.added"] = "benchmark.added"
    benchmark: Token
    key: str
    name: str
    description: str | None = None
    source: Source
    managed: bool = False
    default_harness: str | None = None
    pass_threshold: str = "1.0"
    reward_key: str | None = None
    added_by: str
    judge: JudgeRule | None = None


class SyncRequested(Frozen):
    """A refresh or a retry; a new `source` replaces the old one."""

    type: Literal["benchmark.sync_requested"] = "benchmark.sync_requested"
    sync: Token
    source: Source
    requested_by: str


class SyncStarted(Frozen):
    type: Literal["benchmark.sync_started"] = "benchmark.sync_started"
    sync: Token
    total: int


class PageSynced(Frozen):
    """`synced` of `total` tasks are read, `page` counting from 0."""

    type: Literal["benchmark.page_synced"] = "benchmark.page_synced"
    sync: Token
    page: int
    synced: int
    total: int


class Synced(Frozen):
    """A version is complete: `manifest` names its task list."""

    type: Literal["benchmark.synced"] = "benchmark.synced"
    sync: Token
    version: str
    manifest: str
    tasks: int
    unavailable: int
    categories: int


class SyncFailed(Frozen):
    type: Literal["benchmark.sync_failed"] = "benchmark.sync_failed"
    sync: Token
    reason: str


class BenchmarkRemoved(Frozen):
    type: Literal["benchmark.removed"] = "benchmark.removed"
    removed_by: str
