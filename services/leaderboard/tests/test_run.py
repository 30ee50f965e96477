"""Row functions, against the fold and against what a reader would count from the events."""

from collections import Counter
from dataclasses import fields
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.contracts.events import AgentFinished, AttemptCleaned, AttemptGraded, LeaseLost
from proctor.contracts.folds.run import RunState, agent_status
from proctor.contracts.records import Recorded
from proctor.contracts.states import TERMINAL_ATTEMPT
from proctor.leaderboard.result import Result
from proctor.leaderboard.rows import agent_rows, run_row
from proctor.leaderboard.run import Changes, RunModel

WILD = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "agents": st.sampled_from((("oracle",), ("oracle", "nop"))),
        "tasks": st.integers(1, 4),
        "attempts": st.integers(1, 3),
        "stop": st.booleans(),
        "steps": st.sampled_from((1, 1, 2)),
        "wild": st.just(True),
    }
)


def replay(one: Any, records: list[Recorded]) -> tuple[RunModel, list[Changes]]:
    model, changes = RunModel(RunState(one.workspace, one.run)), list[Changes]()
    for record in records:
        change = model.step(record, one.lock if record.event.type == "run.planned" else None)
        if change is not None:
            changes.append(change)
    return model, changes


@pytest.fixture(scope="session")
def graded(history: Any) -> dict[str, Result]:
    one = history(seed=1, agents=("codex",), tasks=2, attempts=1, pass_rate=1.0)
    model, _ = replay(one, one.records())
    return model.results


def test_a_clean_attempt_as_a_reader_sees_it(history: Any, graded: dict[str, Result]) -> None:
    row = graded["0-1-1"]
    assert (row.identity, row.task_name, row.category) == ("0-codex__acme-task-1__1", "acme/task-1", "math")
    assert (row.status.value, row.outcome, row.passed, row.counts, row.kind) == ("passed", "passed", True, True, None)
    assert (row.score, row.threshold, row.rewards) == (Decimal("1.0"), Decimal("1.0"), '{"reward":"1.0"}')
    assert (row.backend, row.image, row.start_seconds, row.host) == ("docker", "img", 0.25, "h")
    assert (row.verifier_run_seconds, row.verifier_transfer_seconds) == (1.0, 0.125)
    assert row.agent_artifacts == ("artifact/0-1-1.0",)
    assert row.verifier_artifacts == ("artifact/0-1-1.verifier",)
    assert row.artifacts_cut
    assert row.started_at is not None
    assert row.finished_at is not None
    assert row.finished_at > row.started_at


def unmeasured(record: Recorded) -> Recorded:
    gone = isinstance(record.event, AttemptCleaned)
    return record.model_copy(update={"event": record.event.model_copy(update={"use": ()})}) if gone else record


def test_what_a_runner_that_is_gone_used_is_told_by_the_logs_clock(history: Any) -> None:
    one = history(seed=3, tasks=1)
    records = [unmeasured(record) for record in one.records()]
    at = {record.event.type: record.recorded_at for record in records}
    model, _ = replay(one, records)
    seconds = (at["attempt.cleaned"] - at["attempt.sandbox_ready"]).total_seconds()
    assert model.results["0-0-1"].sandbox_seconds == seconds == model.agents[0].sandbox_seconds


@settings(max_examples=30, deadline=None)
@given(shape=WILD)
def test_counts_follow_the_fold_and_agents_add_up_to_the_run(history: Any, shape: dict[str, Any]) -> None:
    one = history(**shape)
    model = RunModel(RunState(one.workspace, one.run))
    for record in one.records():
        model.step(record, one.lock if record.event.type == "run.planned" else None)
        run, agents = run_row(model), agent_rows(model)
        for column in ("passed", "failed", "errored", "cancelled", "in_progress"):
            assert run[column] == sum(agent[column] for agent in agents)
        for index, agent in enumerate(agents):
            assert agent["status"] == agent_status(model.state, index)
    run, outcomes = run_row(model), Counter(row.outcome for row in model.results.values())
    assert {name: outcomes[name] for name in one.tally} == {name: run[name] for name in one.tally}
    assert len(model.results) == run["expected"]


@settings(max_examples=30, deadline=None)
@given(shape=WILD)
def test_every_version_is_newer_and_an_outcome_is_final(history: Any, shape: dict[str, Any]) -> None:
    one = history(**shape)
    model, changes = replay(one, one.records())
    known: dict[str, Result] = {}
    for change in changes:
        for row, replaces in change.results:
            before = known.get(row.attempt)
            assert replaces == (before is not None)
            assert row.valid_from == change.log.sequence
            if before is not None:
                assert row.valid_from > before.valid_from
                assert before.outcome in {None, row.outcome}
                assert row.epoch >= before.epoch
            known[row.attempt] = row
    assert known == model.results
    assert all(row.status in TERMINAL_ATTEMPT for row in known.values())
    assert sum(change.ended for change in changes) == 1


@settings(max_examples=25, deadline=None)
@given(shape=WILD)
def test_repeats_change_nothing(history: Any, shape: dict[str, Any]) -> None:
    """But for `run.waiting`, which says the same thing again when it is the case again."""
    one = history(**shape)
    records = one.records()
    again = [
        record.model_copy(update={"sequence": record.sequence + len(records)})
        for record in records
        if record.event.type != "run.waiting"
    ]
    once, _ = replay(one, records)
    twice, _ = replay(one, [*records, *again])
    assert twice.results == once.results
    assert agent_rows(twice) == agent_rows(once)
    assert run_row(twice) == run_row(once)


@settings(max_examples=25, deadline=None)
@given(shape=WILD)
def test_totals_hold_every_try_and_unknown_is_not_zero(history: Any, shape: dict[str, Any]) -> None:
    """An agent's end that was logged twice is paid for once: the key is (attempt, epoch, step)."""
    one = history(**{**shape, "stop": False})
    records = one.records()
    ends = {
        (record.event.attempt, record.event.epoch, record.event.step): record.event.usage
        for record in records
        if isinstance(record.event, AgentFinished)
    }
    model, _ = replay(one, records)
    for index, agent in enumerate(model.agents):
        own = [usage for (key, _, _), usage in ends.items() if key.startswith(f"{index}-")]
        costs = [usage.cost_usd for usage in own if usage.cost_usd is not None]
        assert agent.tries_ended == len(own)
        assert agent.cost_reported == len(costs)
        assert agent.cost_usd == (pytest.approx(sum(costs)) if costs else None)


def test_a_multi_step_try_sums_its_steps_and_keeps_each_ones_files(history: Any) -> None:
    one = history(seed=5, tasks=1, steps=3, pass_rate=1.0)
    records = one.records()
    ends = [record.event for record in records if isinstance(record.event, AgentFinished)]
    model, _ = replay(one, records)
    row = model.results["0-0-1"]
    assert row.agent_seconds == sum(end.seconds for end in ends)
    assert row.cost_usd == pytest.approx(sum(end.usage.cost_usd or 0 for end in ends))
    assert len(row.agent_artifacts) == 3
    assert row.verifier_run_seconds == 3.0
    assert row.step_rewards == '[{"reward":"0.5"},{"reward":"0.5"}]'


def test_a_new_try_starts_with_nothing_of_the_last_one(history: Any) -> None:
    one = history(seed=1, tasks=1)
    records = one.records()
    ended = next(place for place, record in enumerate(records) if isinstance(record.event, AgentFinished))
    model, _ = replay(one, records[: ended + 1])
    first = model.results["0-0-1"]
    assert (first.cost_usd, first.agent_artifacts, first.backend) != (None, (), None)
    dispatched = records[2].event
    again = [
        LeaseLost(attempt="0-0-1", epoch=1, worker="runner-0", reason="silent"),
        dispatched.model_copy(update={"epoch": 2}),
    ]
    for event in again:
        last = model.state.last_sequence
        assert model.step(records[0].model_copy(update={"sequence": last + 1, "writer": "scheduler", "event": event}))
    fresh, row = {field.name: field.default for field in fields(Result)}, model.results["0-0-1"]
    kept = {"status", "epoch", "redispatches", "valid_from", *list(fresh)[:10]}
    assert (row.status.value, row.epoch, row.redispatches) == ("dispatched", 2, 1)
    assert {name: getattr(row, name) for name in fresh if name not in kept} == {
        name: value for name, value in fresh.items() if name not in kept
    }
    assert model.agents[0].cost_usd == first.cost_usd


def test_a_straggler_of_a_lost_epoch_is_neither_row_nor_log_line(history: Any) -> None:
    one = history(seed=1, tasks=1)
    records = one.records()
    graded = next(record for record in records if isinstance(record.event, AttemptGraded))
    model, changes = replay(one, records)
    stale = graded.model_copy(
        update={"sequence": 10_000, "event": graded.event.model_copy(update={"epoch": 0, "passed": False})}
    )
    assert model.step(stale) is None
    assert [change.log.sequence for change in changes] == sorted(change.log.sequence for change in changes)


def test_usage_that_no_harness_can_mean_is_unknown(history: Any) -> None:
    one = history(seed=1, tasks=1)
    records = one.records()
    broken = [
        record.model_copy(
            update={
                "event": record.event.model_copy(
                    update={
                        "usage": record.event.usage.model_copy(
                            update={"cost_usd": float("inf"), "input_tokens": -3, "output_tokens": 2**80}
                        )
                    }
                )
            }
        )
        if isinstance(record.event, AgentFinished)
        else record
        for record in records
    ]
    model, _ = replay(one, broken)
    row = model.results["0-0-1"]
    assert (row.cost_usd, row.input_tokens, row.output_tokens) == (None, None, None)
    assert (model.agents[0].cost_usd, model.agents[0].cost_reported) == (None, 0)
