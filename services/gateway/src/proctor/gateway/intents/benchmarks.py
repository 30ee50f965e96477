"""Add, sync and remove a benchmark."""

import re
import uuid
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from proctor.contracts.events import BenchmarkAdded, BenchmarkRemoved, SyncRequested
from proctor.contracts.events.benchmark import Source, UploadSource
from proctor.contracts.ids import SYSTEM_WORKSPACE, new_id
from proctor.contracts.judge import JudgeRule
from proctor.contracts.states import SyncStatus
from proctor.eventlog import Conflict
from proctor.gateway.access.principal import Principal
from proctor.gateway.edges import Edges
from proctor.gateway.folds import Folded, benchmark_head
from proctor.gateway.intents.append import append
from proctor.gateway.submission import invalid
from proctor.gateway.text import Plain, PlainLines
from proctor.service.errors import Conflicting, Issue, NotFound

Line = Annotated[Plain, Field(min_length=1, max_length=255, pattern=r"^\S(.*\S)?$")]
_ONCE: Final = uuid.UUID("6f0c9a52-7c34-4b0f-9a1e-2d5b8f4e7c10")
_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*(/[A-Za-z0-9._@-]+)*")
_KEY_RULE: Final = (
    "must be letters, digits and . _ @ - in parts joined by single slashes; it starts with a letter or digit, and no "
    "part is . or .."
)


class ArchiveSource(UploadSource):
    """As a caller may name one."""

    origin: Annotated[Plain, Field(max_length=4096)]


class NewJudge(JudgeRule):
    """As a caller may name one."""

    default_model: Line | None = None


class NewBenchmark(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Line
    name: Line
    source: ArchiveSource
    description: Annotated[PlainLines, Field(max_length=4096)] | None = None
    default_harness: Line | None = None
    pass_threshold: Decimal = Field(default=Decimal("1.0"), gt=0, le=1, allow_inf_nan=False)
    reward_key: Line | None = None
    judge: NewJudge | None = None


class NewSync(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    source: ArchiveSource | None = None


async def add(edges: Edges, who: Principal, new: NewBenchmark, once: str | None = None) -> tuple[str, int]:
    """The benchmark's id and the sequence, 0 for a repeat of what made it under the same Idempotency-Key `once`. The
    key is reserved first; a reservation whose benchmark was never appended, or was removed since, is free again."""
    identifier = _identifier(who.workspace, once)
    if once is not None and await _is_repeat(edges, _added(who, identifier, new), who.workspace):
        return identifier, 0
    if (fault := key_fault(new.key)) is not None:
        raise invalid([Issue("key", fault)])
    await _check_uploaded(edges, who.workspace, new.source)
    if await _managed_key(edges, new.key):
        raise _key_taken(new.key)
    for _ in range(2):
        benchmark = await _reserved(edges, who.workspace, new.key, identifier)
        event = _added(who, benchmark, new)
        try:
            return benchmark, await append(edges, who, event, (who.workspace, "benchmark", benchmark), alone=True)
        except Conflict:
            if once is not None and benchmark == identifier and await _is_repeat(edges, event, who.workspace):
                return benchmark, 0
            head = await benchmark_head(edges.log, who.workspace, benchmark)
            if head is None or head.state.status is not SyncStatus.REMOVED:
                raise _key_taken(new.key) from None
            await _release(edges, benchmark)
    raise _key_taken(new.key)


async def sync(edges: Edges, who: Principal, workspace: str, benchmark: str, wanted: UploadSource | None) -> int:
    """Read the source again, or a new one. Refused while a sync is wanted or under way."""
    head = await _present(edges, workspace, benchmark)
    state = head.state
    if state.status in {SyncStatus.PENDING, SyncStatus.SYNCING}:
        raise Conflicting("a sync of this benchmark is under way; wait until it is ready or failed")
    if wanted is not None:
        _check_own(workspace)
        await _check_uploaded(edges, workspace, wanted)
    source: Source | None = wanted or state.source
    assert source is not None  # noqa: S101 - an added benchmark has one
    event = SyncRequested(sync=new_id(), source=source, requested_by=who.user)
    return await append(edges, who, event, (workspace, "benchmark", benchmark))


async def remove(edges: Edges, who: Principal, workspace: str, benchmark: str) -> int:
    _check_own(workspace)
    await _present(edges, workspace, benchmark)
    event = BenchmarkRemoved(removed_by=who.user)
    return await append(edges, who, event, (workspace, "benchmark", benchmark))


def upload_name(workspace: str, digest: str) -> str:
    """An archive is its workspace's alone: nobody else can tell that it is there."""
    return f"upload/{workspace}/{digest}"


def key_fault(key: str) -> str | None:
    """Why a benchmark can't have the key: it is a path of the API and, by its parts, of folders."""
    parts = key.split("/")
    if _KEY.fullmatch(key) is None or not {".", ".."}.isdisjoint(parts):
        return _KEY_RULE
    if parts[0].lower() == SYSTEM_WORKSPACE:
        return f"must not begin with the part {SYSTEM_WORKSPACE!r}, which is reserved for the platform; choose another"
    return None


def _check_own(workspace: str) -> None:
    if workspace == SYSTEM_WORKSPACE:
        raise Conflicting(
            "this benchmark is managed: it ships with the installation and can't be changed", code="BENCHMARK_MANAGED"
        )


async def _present(edges: Edges, workspace: str, benchmark: str) -> Folded[Any]:
    head = await benchmark_head(edges.log, workspace, benchmark)
    if head is None or head.state.status is SyncStatus.REMOVED:
        raise NotFound("there is no such benchmark in this workspace")
    return head


async def _check_uploaded(edges: Edges, workspace: str, source: UploadSource) -> None:
    if not source.object.startswith(upload_name(workspace, "")) or not await edges.objects.exists(source.object):
        message = "there is no such upload; send the archive to POST /api/v1/uploads first"
        raise invalid([Issue("source.object", message)])


async def _managed_key(edges: Edges, key: str) -> bool:
    query = "SELECT count(*) FROM leaderboard.api_benchmarks WHERE workspace = $1 AND key = $2 AND NOT removed"
    return bool(await edges.pool.fetchval(query, SYSTEM_WORKSPACE, key))


def _key_taken(key: str) -> Conflicting:
    return Conflicting(f"the key {key!r} is in use; choose another, or sync that benchmark from the new source")


def _identifier(workspace: str, once: str | None) -> str:
    return new_id() if once is None else uuid.uuid5(_ONCE, f"{workspace}\0{once}").hex


def _added(who: Principal, benchmark: str, new: NewBenchmark) -> BenchmarkAdded:
    return BenchmarkAdded(
        benchmark=benchmark,
        **new.model_dump(exclude={"pass_threshold", "source"}),
        source=new.source,
        pass_threshold=str(new.pass_threshold),
        added_by=who.user,
    )


async def _is_repeat(edges: Edges, event: BenchmarkAdded, workspace: str) -> bool:
    """Whether the very same request made the benchmark of that id, which is still there."""
    head = await benchmark_head(edges.log, workspace, event.benchmark)
    if head is None:
        return False
    same = head.state.added is not None and head.state.added.model_dump() == event.model_dump()
    if not same or head.state.status is SyncStatus.REMOVED:
        raise Conflicting(
            "this Idempotency-Key was used for another benchmark; use a new one", code="IDEMPOTENCY_KEY_REUSED"
        )
    return True


async def _reserved(edges: Edges, workspace: str, key: str, identifier: str) -> str:
    await edges.pool.execute(
        "INSERT INTO gateway.benchmark_keys (workspace, key, benchmark) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        workspace,
        key,
        identifier,
    )
    return str(
        await edges.pool.fetchval(
            "SELECT benchmark FROM gateway.benchmark_keys WHERE workspace = $1 AND key = $2", workspace, key
        )
    )


async def _release(edges: Edges, benchmark: str) -> None:
    await edges.pool.execute("DELETE FROM gateway.benchmark_keys WHERE benchmark = $1", benchmark)
