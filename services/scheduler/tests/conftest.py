"""Runs as the scheduler sees them: events put through the fold, no bus."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.contracts.config import RunConfig
from proctor.contracts.events import ANY_EVENT, Event
from proctor.contracts.folds.run import RunState
from proctor.contracts.manifest import Manifest, RunLock
from proctor.contracts.records import Recorded
from proctor.scheduler.track import Track

SCHEDULED = ("dispatched", "retry_scheduled", "settled", "lease_lost", "lost", "step_dispatched")
SECONDS = {"startup": 0, "transfer": 0, "run": 1, "parse": 0}
TASK = {"digest": "sha256:0", "environment_digest": "e", "agent_timeout": 100.0, "verifier_timeout": 50.0}


def make_event(kind: str, /, **content: Any) -> Event:
    return ANY_EVENT.validate_python({"type": kind, **content})


def make_manifest(*tasks: dict[str, Any], sets: tuple[dict[str, Any], ...] = ()) -> Manifest:
    rows = [{**TASK, "package": f"task/{one['name']}", **one} for one in tasks]
    return Manifest.model_validate({"version": "v1", "tasks": rows, "task_sets": sets})


def make_submitted(run: str = "r", budget: dict[str, Any] | None = None, **config: Any) -> Event:
    whole = {"experiment": {"benchmark": "b"}, "agents": [{"harness": "oracle"}], **config}
    return make_event(
        "run.submitted",
        run=run,
        name="calm-otter",
        benchmark="b",
        benchmark_key="b",
        benchmark_name="b",
        version="v1",
        manifest="manifest/1",
        pass_threshold="0.5",
        config=RunConfig.model_validate(whole).model_dump(),
        submitted_by="owner",
        budget=budget,
    )


class Story:
    """One run told event by event. Attempt events take the attempt's own epoch, round and step."""

    def __init__(
        self,
        tasks: int = 1,
        agents: int = 1,
        number: int = 1,
        slots: int = 4,
        retries: int = 0,
        steps: int = 1,
        workspace: str = "w",
        run: str = "r",
        start: int = 0,
        unplanned: bool = False,
        budget: dict[str, Any] | None = None,
    ) -> None:
        self.track = Track(RunState(workspace, run))
        self.sequence = start
        config = {"agents": [{"harness": "oracle"}] * agents, "env": {"DEBUG": ""}}
        manifest = make_manifest(*({"name": f"t{n}", "steps": steps} for n in range(tasks)))
        submitted = make_submitted(run, budget, **config)
        self.say(submitted, "gateway")
        if unplanned:
            return
        self.track.lock = RunLock.model_validate(
            {
                "proctor_version": "0",
                "benchmark": "b",
                "benchmark_key": "b",
                "version": "v1",
                "task_set": "full",
                "pass_threshold": "0.5",
                "config": submitted.config,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                "tasks": manifest.tasks,
            }
        )
        plan = {"lock": "l", "task_set": "full", "agents": agents, "tasks": tasks, "attempts_per_task": number}
        self.say(make_event("run.planned", **plan, max_concurrent_attempts=slots, max_retries=retries), "scheduler")

    @property
    def state(self) -> RunState:
        return self.track.state

    def say(self, event: Event, writer: str = "scheduler", now: float = 0.0) -> Recorded:
        self.sequence += 1
        record = Recorded(
            sequence=self.sequence,
            workspace=self.state.workspace,
            aggregate="run",
            id=self.state.run,
            writer=writer,
            recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
            occurred_at=None,
            actor=None,
            event=event,
        )
        self.track.apply(record, now)
        return record

    def run(self, kind: str, now: float = 0.0, /, **content: Any) -> Recorded:
        return self.say(make_event(f"run.{kind}", **content), "scheduler", now)

    def attempt(self, kind: str, key: str = "0-0-1", now: float = 0.0, /, **changes: Any) -> Recorded:
        attempt = self.state.attempt(key)
        epoch = attempt.epoch + (kind == "attempt.dispatched")
        task = {"name": "t", "digest": "d", "package": "p"}
        work = {"workspace": "w", "run": "r", "attempt": key, "epoch": epoch, "task": task, "timeout_multiplier": 1}
        agent = {"index": 0, "harness": "oracle"}
        step = attempt.step if self.track.lock and self.track.lock.tasks[0].steps > 1 else None
        held = {"round": attempt.round + 1, "sandbox": "s", "runner": "runner-1", "threshold": "1"}
        table: dict[str, dict[str, Any]] = {
            "attempt.dispatched": {
                "pool": "default",
                "work": {**work, "run_name": "r", "agent": agent, "lifetime": 1},
            },
            "attempt.claimed": {"worker": "runner-1", "incarnation": "i1", "host": "h"},
            "attempt.sandbox_ready": {"sandbox": "s", "backend": "docker", "image": "i", "seconds": 1},
            "attempt.agent_started": {"step": step},
            "attempt.agent_finished": {"step": step, "seconds": 1},
            "attempt.errored": {"phase": "agent", "kind": "platform_error", "message": "it broke"},
            "attempt.retry_scheduled": {"kind": "platform_error", "delay": 5, "tries": 1},
            "attempt.retry_requested": {"requested_by": "owner"},
            "attempt.settled": {"outcome": "errored", "kind": "runner_lost", "message": "m", "counts": False},
            "attempt.lease_lost": {"worker": "runner-1", "reason": "silent"},
            "grade.dispatched": {"pool": "default", "round": attempt.round + 1, "work": {**work, **held}},
            "grade.claimed": {"round": attempt.round, "worker": "grader-1", "incarnation": "g1"},
            "grade.lost": {"round": attempt.round, "worker": "grader-1", "reason": "silent"},
            "attempt.step_graded": {
                "round": attempt.round,
                "step": attempt.step,
                "rewards": {"reward": "0.5"},
                "seconds": SECONDS,
            },
            "attempt.step_dispatched": {"step": attempt.step + 1},
            "attempt.graded": {
                "round": attempt.round,
                "rewards": {"reward": "1"},
                "score": "1",
                "threshold": "0.5",
                "passed": True,
                "mode": "shared",
                "seconds": SECONDS,
            },
            "attempt.grading_failed": {"round": attempt.round, "kind": "reward_missing", "message": "no reward"},
            "attempt.cleaned": {"sandbox": "s"},
        }
        graded = kind.startswith("grade.") or kind in {"attempt.graded", "attempt.grading_failed"}
        verb = kind.split(".")[1]
        writer = "scheduler" if verb in SCHEDULED else "grader-1" if graded else "runner-1"
        writer = changes.get("worker", writer) if verb == "claimed" else writer
        return self.say(make_event(kind, attempt=key, epoch=epoch, **{**table[kind], **changes}), writer, now)

    def until(self, status: str, key: str = "0-0-1", now: float = 0.0, worker: str = "runner-1") -> "Story":
        """Bring an attempt to a status by the shortest way."""
        way = [
            ("attempt.dispatched", "dispatched"),
            ("attempt.claimed", "claimed"),
            ("attempt.sandbox_ready", "sandbox_ready"),
            ("attempt.agent_started", "agent_running"),
            ("attempt.agent_finished", "awaiting_grade"),
            ("grade.dispatched", "grade_dispatched"),
            ("grade.claimed", "grading"),
            ("attempt.graded", "passed"),
        ]
        for kind, reached in way:
            changes = {"worker": worker} if kind == "attempt.claimed" else {}
            self.attempt(kind, key, now, **changes)
            if reached == status:
                return self
        raise AssertionError(status)


@pytest.fixture(scope="session")
def make_story() -> Callable[..., Story]:
    return Story


@pytest.fixture(scope="session")
def make() -> Any:
    return SimpleNamespace(event=make_event, manifest=make_manifest, submitted=make_submitted)
