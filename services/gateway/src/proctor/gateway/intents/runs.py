"""Submit and stop."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import asyncpg

from proctor.contracts import records
from proctor.contracts.events import RunSubmitted, StopRequested
from proctor.contracts.ids import run_id
from proctor.contracts.states import RunStatus
from proctor.eventlog import Conflict
from proctor.eventlog.streams import MAX_EVENT_BYTES
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.edges import Edges
from proctor.gateway.folds import run_head
from proctor.gateway.intents.append import append
from proctor.gateway.names import free_name, stem
from proctor.gateway.readmodel import benchmarks
from proctor.gateway.submission import Accepted, Submission, Target, accept, invalid, parse
from proctor.gateway.text import storable
from proctor.gateway.vault.values import RunValues, store, values_of
from proctor.service.errors import Conflicting, Forbidden, Issue, NotFound

HEADER_BYTES: Final = 4 * 1024
"""What the bus counts towards an event's size beside its body."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """`sequence` is 0 for a repeat, whose event is older than this request."""

    run: str
    sequence: int
    tasks: int | None
    warnings: tuple[str, ...]

    @property
    def repeated(self) -> bool:
        return self.sequence == 0


async def submit(edges: Edges, who: Principal, body: Mapping[str, Any], key: str | None) -> Submitted:
    """Validate, keep the values, append. Raises `Invalid`, or `Conflicting` for another body under a used key."""
    run = run_id(who.workspace, key)
    request = edges.sealer.fingerprint(json.dumps(body, sort_keys=True).encode())
    if key is not None and await _is_repeat(edges, who.workspace, run, request):
        return Submitted(run, 0, None, ())
    submission = parse(body)
    row = await _benchmark(edges, who.workspace, submission)
    accepted = await _accept(edges, who.workspace, submission, row)
    event = RunSubmitted(
        run=run,
        name=stem(run),
        benchmark=row["benchmark"],
        benchmark_key=row["key"],
        benchmark_name=row["name"],
        version=row["version"],
        manifest=row["manifest"],
        pass_threshold=_threshold(accepted.config.execution.pass_threshold, row["pass_threshold"]),
        reward_key=row["reward_key"],
        config=accepted.config.without_values(),
        submitted_by=who.user,
    )
    _check_size(event)
    name = await _reserve(edges, who.workspace, run, request, values_of(submission, accepted.config))
    event = event.model_copy(update={"name": name})
    try:
        sequence = await append(edges, who, event, (who.workspace, "run", run), alone=True)
    except Conflict:
        return Submitted(run, 0, None, ())
    return Submitted(run, sequence, accepted.tasks, accepted.warnings)


async def stop(edges: Edges, who: Principal, run: str, reason: str) -> int:
    """The sequence of the request; 0 when an earlier one stops or stopped the run."""
    head = await run_head(edges.log, who.workspace, run)
    if head is None or head.state.submitted is None:
        raise NotFound("there is no such run in this workspace")
    state = head.state
    stopped = state.status is RunStatus.STOPPED and state.stop is not None
    if head.state.submitted.submitted_by != who.user and not who.may(Role.ADMIN):
        raise Forbidden("only an admin may stop the run of another")
    if state.ended and not stopped:
        raise Conflicting(f"the run has ended already: it is {state.status}", code="RUN_ENDED")
    if stopped or state.stop is not None:
        return 0
    event = StopRequested(reason=reason, requested_by=who.user)
    return await append(edges, who, event, (who.workspace, "run", run))


async def _is_repeat(edges: Edges, workspace: str, run: str, request: bytes) -> bool:
    """Whether the very same body made this run. A key that was taken by a submit that died counts for nothing."""
    used = await edges.pool.fetchval(
        "SELECT request FROM gateway.runs WHERE workspace = $1 AND run = $2", workspace, run
    )
    if used is None:
        return False
    _check_same(used, request)
    return await run_head(edges.log, workspace, run) is not None


def _check_same(used: bytes, request: bytes) -> None:
    if used != request:
        raise Conflicting(
            "this Idempotency-Key was used for another submit; use a new one", code="IDEMPOTENCY_KEY_REUSED"
        )


async def _benchmark(edges: Edges, workspace: str, submission: Submission) -> benchmarks.Row:
    """Empty where there is none of that name."""
    wanted = submission.benchmark
    return (await benchmarks.find(edges.pool, workspace, wanted) if wanted and storable(wanted) else None) or {}


async def _accept(edges: Edges, workspace: str, submission: Submission, row: benchmarks.Row) -> Accepted:
    if not row:
        return accept(submission, None, None, await benchmarks.words(edges.pool, workspace))
    target = Target(**{field.name: row[field.name] for field in fields(Target)})
    manifest = await edges.manifests.get(row["manifest"]) if target.ready else None
    return accept(submission, target, manifest)


def _threshold(of_run: float | None, of_benchmark: object) -> str:
    return str(of_benchmark if of_run is None else of_run)


def _check_size(event: RunSubmitted) -> None:
    """Names are short beside what they make room for here, so the name that is reserved later fits as well."""
    if len(records.encode(event)) > MAX_EVENT_BYTES - HEADER_BYTES:
        sections = event.config.model_dump(mode="json")
        largest = max(sections, key=lambda section: len(json.dumps(sections[section])))
        limit = (MAX_EVENT_BYTES - HEADER_BYTES) // 1024
        hint = ": choose by category or by task set" if largest == "tasks" else ""
        raise invalid([Issue(largest, f"the configuration without its values is over {limit} KiB{hint}")])


async def _reserve(edges: Edges, workspace: str, run: str, request: bytes, values: RunValues) -> str:
    """Take the run's name and key and keep its values, in one transaction. The name is the one from the first time
    when a submit that died before its append comes again."""
    pair = stem(run)
    while True:
        try:
            async with edges.pool.acquire() as connection, connection.transaction():
                known = await connection.fetchrow(
                    "SELECT name, request FROM gateway.runs WHERE workspace = $1 AND run = $2", workspace, run
                )
                if known is not None:
                    _check_same(known["request"], request)
                    name = known["name"]
                else:
                    taken = await connection.fetch(
                        "SELECT name FROM gateway.runs WHERE workspace = $1 AND (name = $2 OR name LIKE $2 || '-%')",
                        workspace,
                        pair,
                    )
                    name = free_name(pair, {row["name"] for row in taken})
                    await connection.execute(
                        "INSERT INTO gateway.runs (workspace, run, name, request) VALUES ($1, $2, $3, $4)",
                        workspace,
                        run,
                        name,
                        request,
                    )
                await store(connection, edges.sealer, workspace, run, values)
                return name
        except asyncpg.UniqueViolationError:
            continue
