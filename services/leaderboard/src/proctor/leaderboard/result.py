"""One attempt's row, and what each event makes of it. Pure: a new row, or the same one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from proctor.contracts.events.attempt import Artifacts, AttemptEvent, GradeSeconds
from proctor.contracts.folds.attempt import AttemptState, Rewards
from proctor.contracts.metering import PhaseUse, added
from proctor.contracts.outcomes import policy
from proctor.contracts.records import Recorded
from proctor.contracts.states import TERMINAL_ATTEMPT, AttemptStatus
from proctor.leaderboard.agent import plausible


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Columns of `results` in its order, but for `valid_to`. What the current try says starts again with each."""

    workspace: str
    run: str
    attempt: str
    identity: str
    agent: int
    task: int
    number: int
    task_name: str
    category: str | None
    difficulty: str | None
    status: AttemptStatus = AttemptStatus.PLANNED
    outcome: str | None = None
    kind: str | None = None
    fault: str | None = None
    message: str | None = None
    score: Decimal | None = None
    threshold: Decimal | None = None
    passed: bool | None = None
    counts: bool = False
    rewards: str | None = None
    step_rewards: str | None = None
    tries: int = 0
    redispatches: int = 0
    epoch: int = 0
    worker: str | None = None
    host: str | None = None
    backend: str | None = None
    image: str | None = None
    note: str | None = None
    start_seconds: float | None = None
    setup_seconds: float | None = None
    agent_seconds: float | None = None
    verifier_startup_seconds: float | None = None
    verifier_transfer_seconds: float | None = None
    verifier_run_seconds: float | None = None
    verifier_parse_seconds: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    agent_steps: int | None = None
    agent_artifacts: tuple[str, ...] = ()
    verifier_artifacts: tuple[str, ...] = ()
    artifacts_cut: bool = False
    killed: int = 0
    sandbox_seconds: float | None = None
    sandbox_use: str | None = None
    reused_run: str | None = None
    reused_attempt: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    valid_from: int = 0


_USE: Final = TypeAdapter(tuple[PhaseUse, ...])
_PLACE: Final = (
    *("workspace", "run", "attempt", "identity", "agent", "task", "number", "task_name", "category", "difficulty"),
)
_OF_A_TRY: Final = {
    "message": None,
    "worker": None,
    "host": None,
    "backend": None,
    "image": None,
    "note": None,
    "rewards": None,
    "start_seconds": None,
    "setup_seconds": None,
    "agent_seconds": None,
    "verifier_startup_seconds": None,
    "verifier_transfer_seconds": None,
    "verifier_run_seconds": None,
    "verifier_parse_seconds": None,
    "input_tokens": None,
    "cached_tokens": None,
    "output_tokens": None,
    "cost_usd": None,
    "agent_steps": None,
    "agent_artifacts": (),
    "verifier_artifacts": (),
    "artifacts_cut": False,
    "killed": 0,
    "started_at": None,
}

Facts = Callable[[Result, Any, Recorded], dict[str, Any]]


def _agent_finished(row: Result, event: Any, _: Recorded) -> dict[str, Any]:  # noqa: ANN401 - by the table below
    """Of several steps the sums, unknown as soon as one step's is."""
    first, usage = row.agent_seconds is None, plausible(event.usage)
    reported = {
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "agent_steps": usage.steps,
    }
    return {
        "message": event.message,
        "agent_seconds": event.seconds + (row.agent_seconds or 0),
        "setup_seconds": event.setup_seconds if first else _sum(row.setup_seconds, event.setup_seconds),
        "killed": row.killed + event.killed,
        **{name: value if first else _sum(getattr(row, name), value) for name, value in reported.items()},
        **_kept(row, "agent_artifacts", event.artifacts),
    }


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _json(rewards: Rewards) -> str:
    """Reward names come from the task's verifier; PostgreSQL takes no NUL in them."""
    return to_json({name.replace("\0", "\ufffd"): value for name, value in rewards.items()}).decode()


def _kept(row: Result, phase: str, artifacts: Artifacts | None) -> dict[str, Any]:
    if artifacts is None:
        return {}
    return {
        phase: (*getattr(row, phase), artifacts.object),
        "artifacts_cut": row.artifacts_cut or artifacts.cut,
    }


def _verifier(row: Result, seconds: GradeSeconds, artifacts: Artifacts | None) -> dict[str, Any]:
    times = {f"verifier_{phase}_seconds": value for phase, value in seconds}
    return {
        **{name: value + (getattr(row, name) or 0) for name, value in times.items()},
        **_kept(row, "verifier_artifacts", artifacts),
    }


_FACTS: Final[dict[str, Facts]] = {
    "attempt.dispatched": lambda row, event, record: _OF_A_TRY,
    "attempt.claimed": lambda row, event, record: {
        "worker": event.worker,
        "host": event.host,
        "started_at": record.recorded_at,
    },
    "attempt.sandbox_ready": lambda row, event, record: {
        "backend": event.backend,
        "image": event.image,
        "note": event.note,
        "start_seconds": event.seconds,
    },
    "attempt.agent_finished": _agent_finished,
    "attempt.errored": lambda row, event, record: {
        "message": event.message,
        **_kept(row, "agent_artifacts", event.artifacts),
    },
    "attempt.step_graded": lambda row, event, record: _verifier(row, event.seconds, event.artifacts),
    "attempt.graded": lambda row, event, record: {
        "rewards": _json(event.rewards),
        "threshold": Decimal(event.threshold),
        **_verifier(row, event.seconds, event.artifacts),
    },
    "attempt.grading_failed": lambda row, event, record: {
        "message": event.message,
        **_kept(row, "verifier_artifacts", event.artifacts),
    },
    "attempt.settled": lambda row, event, record: {"message": event.message},
    "attempt.retry_requested": lambda row, event, record: {"message": None},
}


def advance(row: Result, event: AttemptEvent, after: AttemptState, record: Recorded) -> Result:
    """The row after an event that the fold accepted, `after` being the fold's new state."""
    facts = _FACTS.get(event.type)
    return replace(row, **(facts(row, event, record) if facts else {}), **_standing(after, record))


def cancelled(row: Result, after: AttemptState, record: Recorded) -> Result:
    return replace(row, **_standing(after, record))


def cleaned(row: Result, seconds: float, use: Iterable[PhaseUse], record: Recorded) -> Result:
    """`seconds` of one more sandbox of the attempt, and what it used."""
    return replace(
        row,
        sandbox_seconds=seconds + (row.sandbox_seconds or 0),
        sandbox_use=_with_use(row.sandbox_use, use),
        valid_from=record.sequence,
    )


def _with_use(known: str | None, more: Iterable[PhaseUse]) -> str | None:
    parts = added([*(_USE.validate_json(known) if known else ()), *more])
    return _USE.dump_json(parts).decode() if parts else None


def taken_over(row: Result, source: Result, record: Recorded) -> Result:
    """The source's result under the place of `row`. What its sandbox used was the source run's."""
    return replace(
        source,
        **{name: getattr(row, name) for name in _PLACE},
        sandbox_seconds=None,
        sandbox_use=None,
        reused_run=source.reused_run or source.run,
        reused_attempt=source.reused_attempt or source.attempt,
        valid_from=record.sequence,
    )


def _standing(after: AttemptState, record: Recorded) -> dict[str, Any]:
    """What the fold knows; a row never decides that itself."""
    ended = after.status in TERMINAL_ATTEMPT
    verdict = after.status in {AttemptStatus.PASSED, AttemptStatus.FAILED}
    kind = after.kind or after.agent_kind
    return {
        "status": after.status,
        "outcome": after.status.value if ended else None,
        "kind": kind,
        "fault": policy(kind).fault.value if kind else None,
        "score": None if after.score is None else Decimal(after.score),
        "passed": after.status is AttemptStatus.PASSED if verdict else None,
        "counts": after.counts,
        "step_rewards": f"[{','.join(map(_json, after.step_rewards))}]" if after.step_rewards else None,
        "tries": after.tries,
        "redispatches": after.redispatches,
        "epoch": after.epoch,
        "finished_at": record.recorded_at if ended else None,
        "valid_from": record.sequence,
    }
