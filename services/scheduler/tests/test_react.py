"""What the scheduler decides from a run's log, by the error policy and the states of the design."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contracts.judge import JudgeRule
from proctor.contracts.outcomes import POLICY, Fault
from proctor.scheduler.react import backoff, dispatch, phase_seconds, react

type MakeStory = Callable[..., Any]


def reaction(story: Any, *keys: str) -> list[dict[str, Any]]:
    return [event.model_dump(exclude={"work"}) for event in react(story.state, story.track.lock, keys or ["0-0-1"])]


@pytest.mark.parametrize("kind", [*POLICY, "never_heard_of"])
@pytest.mark.parametrize("via", ["attempt.errored", "attempt.grading_failed"])
def test_every_kind_is_decided_by_its_row(make_story: MakeStory, kind: str, via: str) -> None:
    fault = POLICY[kind].fault if kind in POLICY else Fault.INFRASTRUCTURE
    status = "agent_running" if via == "attempt.errored" else "grading"
    story = make_story(retries=1).until(status)
    story.attempt(via, kind=kind, message="it broke")
    (first,) = reaction(story)
    if fault in {Fault.INFRASTRUCTURE, Fault.PROVIDER}:
        assert (first["type"], first["tries"], first["kind"]) == ("attempt.retry_scheduled", 1, kind)
        story.attempt("attempt.retry_scheduled", kind=kind, tries=1)
        story.until(status)
        story.attempt(via, kind=kind, message="it broke")
        (first,) = reaction(story)
    assert first == {
        "type": "attempt.settled",
        "attempt": "0-0-1",
        "epoch": story.state.attempt("0-0-1").epoch,
        "outcome": "failed" if fault is Fault.AGENT else "errored",
        "kind": kind,
        "message": "it broke",
        "counts": fault is Fault.AGENT,
    }


def test_without_retries_nothing_is_tried_again(make_story: MakeStory) -> None:
    story = make_story(retries=0).until("claimed")
    story.attempt("attempt.errored", kind="start_failed")
    assert [one["type"] for one in reaction(story)] == ["attempt.settled"]


@given(seed=st.text(max_size=10), tries=st.integers(0, 12))
def test_the_back_off_doubles_with_jitter_up_to_ten_minutes(seed: str, tries: int) -> None:
    most = min(600, 2 * 2**tries)
    assert most / 2 <= backoff(seed, tries) <= most
    assert backoff(seed, tries) == backoff(seed, tries)


def test_the_jitter_spreads_attempts() -> None:
    assert len({backoff(f"r.{number}", 3) for number in range(50)}) > 40


@pytest.mark.parametrize("reason", ["silent", "restarted", "overdue"])
def test_the_fourth_lost_lease_ends_an_attempt(make_story: MakeStory, reason: str) -> None:
    story = make_story(retries=10)
    for count in range(1, 5):
        story.until("claimed")
        story.attempt("attempt.lease_lost", reason=reason)
        if count < 4:
            assert reaction(story) == []
            assert story.track.next_attempt(0) == "0-0-1"
    (settled,) = reaction(story)
    assert (settled["outcome"], settled["kind"], settled["counts"]) == ("errored", "runner_lost", False)


def test_a_drained_runner_costs_nothing(make_story: MakeStory) -> None:
    story = make_story()
    for _ in range(10):
        story.until("claimed")
        story.attempt("attempt.lease_lost", reason="drained")
        assert reaction(story) == []
    assert story.track.next_attempt(0) == "0-0-1"


def test_lost_leases_are_no_retries(make_story: MakeStory) -> None:
    story = make_story(retries=1)
    for _ in range(3):
        story.until("claimed")
        story.attempt("attempt.lease_lost")
    story.until("claimed")
    story.attempt("attempt.errored")
    assert [one["type"] for one in reaction(story)] == ["attempt.retry_scheduled"]


def test_a_grading_that_no_grader_survives_ends(make_story: MakeStory) -> None:
    story = make_story().until("awaiting_grade")
    for count in range(1, 5):
        (dispatched,) = reaction(story)
        assert (dispatched["type"], dispatched["round"]) == ("grade.dispatched", count)
        story.attempt("grade.dispatched")
        story.attempt("grade.claimed")
        story.attempt("grade.lost")
    (settled,) = reaction(story)
    assert (settled["type"], settled["outcome"]) == ("attempt.settled", "errored")
    assert settled["kind"] == "grader_unavailable"


def test_a_drained_grader_costs_nothing(make_story: MakeStory) -> None:
    story = make_story().until("awaiting_grade")
    for _ in range(10):
        story.attempt("grade.dispatched")
        story.attempt("grade.claimed")
        story.attempt("grade.lost", reason="drained")
    assert [one["type"] for one in reaction(story)] == ["grade.dispatched"]


def test_what_a_grader_is_told(make_story: MakeStory) -> None:
    story = make_story(steps=3).until("grading")
    story.attempt("attempt.step_graded")
    assert reaction(story) == [{"type": "attempt.step_dispatched", "attempt": "0-0-1", "epoch": 1, "step": 1}]
    story.attempt("attempt.step_dispatched")
    story.attempt("attempt.agent_started")
    story.attempt("attempt.agent_finished")
    (event,) = react(story.state, story.track.lock, ["0-0-1"])
    assert event.work.model_dump() == {  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        "workspace": "w",
        "run": "r",
        "attempt": "0-0-1",
        "epoch": 1,
        "round": 2,
        "sandbox": "s",
        "runner": "runner-1",
        "task": {"name": "t0", "digest": "sha256:0", "package": "task/t0"},
        "literals": ("DEBUG",),
        "step": 1,
        "step_rewards": ({"reward": "0.5"},),
        "timeout_multiplier": 1.0,
        "threshold": "0.5",
        "reward_key": None,
        "judge": None,
    }


def test_a_judged_benchmarks_grader_gets_the_runs_model_or_the_default(make_story: MakeStory) -> None:
    rule = {"kind": "model", "key_variable": "JUDGE_API_KEY", "model_variable": "JUDGE", "default_model": "small"}
    story = make_story().until("awaiting_grade")
    execution = story.track.lock.config.execution
    for model, told in ((None, "small"), ("large", "large")):
        chosen = execution.model_copy(update={"judge_model": model, "judge_api_key_secret": "MY_KEY"})
        config = story.track.lock.config.model_copy(update={"execution": chosen})
        lock = story.track.lock.model_copy(update={"config": config, "judge": JudgeRule.model_validate(rule)})
        (event,) = react(story.state, lock, ["0-0-1"])
        assert event.model_dump()["work"]["judge"] == {
            "key_variable": "JUDGE_API_KEY",
            "key_secret": "MY_KEY",
            "model_variable": "JUDGE",
            "model": told,
        }


def test_what_a_runner_is_told(make_story: MakeStory) -> None:
    story = make_story(tasks=2)
    event = dispatch(story.state, story.track.lock, "0-1-1")
    work = event.work
    assert (event.epoch, event.pool, work.attempt, work.epoch) == (1, "default", "0-1-1", 1)
    assert (work.task.name, work.agent.harness, work.run_name, work.literals) == (
        "t1",
        "oracle",
        "calm-otter",
        ("DEBUG",),
    )
    task = story.track.lock.tasks[1]
    assert phase_seconds(task, 1) == 600 + 360 + 100
    assert phase_seconds(task, 2) == 2 * phase_seconds(task, 1)
    assert work.lifetime == phase_seconds(task, 1) + 86_400
    story.until("claimed", "0-1-1")
    story.attempt("attempt.lease_lost", "0-1-1")
    assert dispatch(story.state, story.track.lock, "0-1-1").epoch == 2


def test_several_attempts_are_decided_in_one_go(make_story: MakeStory) -> None:
    story = make_story(tasks=3)
    story.until("awaiting_grade", "0-0-1").until("claimed", "0-1-1").until("claimed", "0-2-1")
    story.attempt("attempt.errored", "0-1-1")
    found = reaction(story, "0-0-1", "0-1-1", "0-2-1")
    assert [(one["type"], one["attempt"]) for one in found] == [
        ("grade.dispatched", "0-0-1"),
        ("attempt.settled", "0-1-1"),
    ]


def test_a_stop_cancels_then_waits_for_the_sandboxes_then_ends(make_story: MakeStory, make: Any) -> None:
    story = make_story(tasks=2).until("passed", "0-0-1").until("claimed", "0-1-1")
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway")
    assert reaction(story) == [{"type": "run.attempts_cancelled", "reason": "enough", "agent": None}]
    story.run("attempts_cancelled", reason="enough")
    assert reaction(story) == [], "a sandbox is left in each"
    for key in ("0-0-1", "0-1-1"):
        story.attempt("attempt.cleaned", key)
    assert reaction(story) == [{"type": "run.stopped", "reason": "enough"}]
    story.run("stopped", reason="enough")
    assert reaction(story) == [{"type": "run.cleaned"}]
    story.run("cleaned")
    assert reaction(story) == []


def test_a_run_that_is_stopped_before_its_plan_just_ends(make_story: MakeStory, make: Any) -> None:
    story = make_story(unplanned=True)
    story.say(make.event("run.stop_requested", reason="enough", requested_by="owner"), "gateway")
    for expected, kind in (("run.attempts_cancelled", "attempts_cancelled"), ("run.stopped", "stopped")):
        assert [one["type"] for one in reaction(story)] == [expected]
        story.run(kind, reason="enough")
    assert reaction(story) == [{"type": "run.cleaned"}]


def test_a_run_finishes_when_every_attempt_has_an_outcome_and_one_counts(make_story: MakeStory) -> None:
    story = make_story(tasks=3).until("passed", "0-0-1").until("grading", "0-1-1").until("claimed", "0-2-1")
    story.attempt("attempt.graded", "0-1-1", passed=False, score="0")
    story.attempt("attempt.errored", "0-2-1")
    assert [one["type"] for one in reaction(story, "0-2-1")] == ["attempt.settled"], "first its outcome"
    story.attempt("attempt.settled", "0-2-1")
    counts = {"passed": 1, "failed": 1, "errored": 1, "cancelled": 0}
    assert reaction(story, "0-2-1") == [{"type": "run.finished", **counts}]
    assert reaction(story) == [{"type": "run.finished", **counts}], "found again without a changed attempt"
    story.run("finished", **counts)
    assert reaction(story) == [], "sandboxes are left"
    for key in ("0-0-1", "0-1-1", "0-2-1"):
        story.attempt("attempt.cleaned", key)
    assert reaction(story) == [{"type": "run.cleaned"}]


def test_a_run_in_which_nothing_counts_failed(make_story: MakeStory) -> None:
    story = make_story(tasks=2).until("grading", "0-0-1").until("claimed", "0-1-1")
    story.attempt("attempt.grading_failed", "0-0-1")
    story.attempt("attempt.settled", "0-0-1", kind="reward_missing")
    story.attempt("attempt.errored", "0-1-1")
    story.attempt("attempt.settled", "0-1-1", kind="start_failed")
    assert reaction(story) == [
        {
            "type": "run.failed",
            "kind": "no_agent_finished",
            "message": "no agent could finish: every attempt ended with reward_missing, start_failed",
        }
    ]


def test_an_agents_own_failure_without_a_grade_is_a_result(make_story: MakeStory) -> None:
    story = make_story().until("agent_running")
    story.attempt("attempt.errored", kind="agent_broke_sandbox")
    (settled,) = reaction(story)
    story.attempt("attempt.settled", outcome=settled["outcome"], kind=settled["kind"], counts=settled["counts"])
    assert [one["type"] for one in reaction(story)] == ["run.finished"]


@pytest.mark.parametrize("status", ["dispatched", "claimed", "agent_running", "grading"])
def test_what_is_under_way_needs_no_decision(make_story: MakeStory, status: str) -> None:
    assert reaction(make_story().until(status)) == []


def test_deciding_is_repeatable(make_story: MakeStory) -> None:
    story = make_story(retries=3).until("claimed")
    story.attempt("attempt.errored")
    first = react(story.state, story.track.lock, ["0-0-1"])
    assert react(story.state, story.track.lock, ["0-0-1"]) == first
