"""Submit and stop."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import asyncpg

from proctor.contracts import records
from proctor.contracts.events import Budget, RunSubmitted, StopRequested
from proctor.contracts.ids import run_id
from proctor.contracts.judge import JudgeRule
from proctor.contracts.states import RunStatus
from proctor.eventlog import Conflict
from proctor.eventlog.streams import MAX_EVENT_BYTES
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.billing.admission import admit
from proctor.gateway.billing.budget import NO_BUDGET, RunBudget
from proctor.gateway.edges import Edges
from proctor.gateway.folds import run_head
from proctor.gateway.intents.append import append
from proctor.gateway.intents.settings import settings_of
from proctor.gateway.names import free_name, stem
from proctor.gateway.readmodel import benchmarks
from proctor.gateway.submission import Accepted, Submission, Target, accept, invalid, parse, referenced
from proctor.gateway.text import storable
from proctor.gateway.vault.secrets import scopes_of
from proctor.gateway.vault.values import Literals, literals_of, store
from proctor.service.errors import Conflicting, Forbidden, Issue, NotFound

HEADER_BYTES: Final = 4 * 1024
"""What the bus counts towards an event's size beside its body."""


class Claim(NamedTuple):
    """The run that a request is for. `request` tells its body from others."""

    workspace: str
    run: str
    request: bytes
    repeatable: bool


class Pinned(NamedTuple):
    """What a run is measured by, as fields of its `RunSubmitted`."""

    benchmark: str
    benchmark_key: str
    benchmark_name: str
    version: str
    manifest: str
    pass_threshold: str
    reward_key: str | None
    judge: JudgeRule | None


@dataclass(frozen=True, slots=True)
class Order:
    """A sound submission. `settings` are known of a rerun alone."""

    submission: Submission
    accepted: Accepted
    pinned: Pinned
    settings: tuple[str, ...] = ()
    rerun_of: str | None = None
    reuse: bool = False

    @property
    def attempts(self) -> int:
        """How many it plans; of a run that takes results over, how many it begins isn't known yet."""
        config = self.accepted.config
        planned = self.accepted.tasks * len(config.agents) * config.execution.attempts_per_task
        return 0 if self.reuse else planned


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
    claim = claim_of(edges, who, body, key)
    if await is_repeat(edges, claim):
        return Submitted(claim.run, 0, None, ())
    submission = parse(body)
    row = await _benchmark(edges, who.workspace, submission)
    accepted = await accept_for(edges, who, submission, row)
    pinned = Pinned(
        benchmark=row["benchmark"],
        benchmark_key=row["key"],
        benchmark_name=row["name"],
        version=row["version"],
        manifest=row["manifest"],
        pass_threshold=_threshold(accepted.config.execution.pass_threshold, row["pass_threshold"]),
        reward_key=row["reward_key"],
        judge=_judge(row),
    )
    return await launch(edges, who, claim, Order(submission, accepted, pinned))


def claim_of(edges: Edges, who: Principal, body: Mapping[str, Any], key: str | None) -> Claim:
    request = edges.sealer.fingerprint(json.dumps(body, sort_keys=True).encode())
    return Claim(who.workspace, run_id(who.workspace, key), request, repeatable=key is not None)


async def launch(edges: Edges, who: Principal, claim: Claim, order: Order) -> Submitted:
    """The way of every new run into the log."""
    config, literals = order.accepted.config, literals_of(order.accepted.config)
    budget = await admit(edges.pool, who, order.submission.budget, order.attempts)
    event = RunSubmitted(
        run=claim.run,
        name=stem(claim.run),
        **order.pinned._asdict(),
        config=config.without_values(),
        submitted_by=who.user,
        settings=order.settings or settings_of(edges.sealer, literals),
        budget=budget,
        own_budget=_own(order.submission.budget),
        rates=edges.settings.sandbox_rates,
        rerun_of=order.rerun_of,
        reuse=order.reuse,
    )
    _check_size(event)
    provided = order.submission.secrets.provided
    name = await _reserve(edges, claim, literals, provided)
    event = event.model_copy(update={"name": name})
    try:
        sequence = await append(edges, who, event, (claim.workspace, "run", claim.run), alone=True)
    except Conflict:
        return Submitted(claim.run, 0, None, ())
    return Submitted(claim.run, sequence, order.accepted.tasks, order.accepted.warnings)


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


async def is_repeat(edges: Edges, claim: Claim) -> bool:
    """Whether the very same body made this run. A key that was taken by a submit that died counts for nothing."""
    if not claim.repeatable:
        return False
    used = await edges.pool.fetchval(
        "SELECT request FROM gateway.runs WHERE workspace = $1 AND run = $2", claim.workspace, claim.run
    )
    if used is None:
        return False
    _check_same(used, claim.request)
    return await run_head(edges.log, claim.workspace, claim.run) is not None


def _check_same(used: bytes, request: bytes) -> None:
    if used != request:
        raise Conflicting(
            "this Idempotency-Key was used for another submit, or before the vault's key was rotated: look at the "
            "newest runs before you submit again with a new one",
            code="IDEMPOTENCY_KEY_REUSED",
        )


async def _benchmark(edges: Edges, workspace: str, submission: Submission) -> benchmarks.Row:
    """Empty where there is none of that name."""
    wanted = submission.benchmark
    return (await benchmarks.find(edges.pool, workspace, wanted) if wanted and storable(wanted) else None) or {}


async def accept_for(edges: Edges, who: Principal, submission: Submission, row: benchmarks.Row) -> Accepted:
    target = _target(row) if row else None
    manifest = await edges.manifests.get(row["manifest"]) if target and target.ready else None
    stored = await scopes_of(edges.pool, who.workspace, who.user, referenced(submission, manifest))
    known = () if target else await benchmarks.words(edges.pool, who.workspace)
    return accept(submission, target, manifest, known, stored)


def _own(budget: RunBudget) -> Budget | None:
    return None if budget == NO_BUDGET else Budget(usd=budget.usd, attempts=budget.attempts)


def _target(row: benchmarks.Row) -> Target:
    read: dict[str, Any] = {"judge": _judge(row)}
    return Target(**{field.name: row[field.name] for field in fields(Target)} | read)


def _judge(row: benchmarks.Row) -> JudgeRule | None:
    return JudgeRule.model_validate(row["judge"]) if row["judge"] else None


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


async def _reserve(edges: Edges, claim: Claim, literals: Literals, provided: Mapping[str, str]) -> str:
    """Take the run's name and key and keep its values, in one transaction. The name is the one from the first time
    when a submit that died before its append comes again."""
    workspace, run, request, _ = claim
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
                await store(connection, edges.sealer, (workspace, run), literals, provided)
                return name
        except asyncpg.UniqueViolationError:
            continue
