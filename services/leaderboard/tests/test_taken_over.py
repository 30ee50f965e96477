"""Results that a run takes over from another: the same figures under its own names, and whose they are."""

from dataclasses import replace
from typing import Any

import pytest

from proctor.contracts.events import ResultsReused
from proctor.contracts.folds.run import RunState
from proctor.contracts.records import Recorded
from proctor.leaderboard.rows import agent_rows, run_row
from proctor.leaderboard.run import RunModel

OWN = {"run", "attempt", "identity", "valid_from", "reused_run", "reused_attempt", "sandbox_seconds", "sandbox_use"}


def told(one: Any) -> RunModel:
    model = RunModel(RunState(one.workspace, one.run))
    for record in one.records():
        model.step(record, one.lock if record.event.type == "run.planned" else None)
    return model


def reused(source: RunModel, outcomes: str) -> ResultsReused:
    return ResultsReused(
        source=source.state.run,
        source_name="calm-source",
        position=source.position,
        agents=(0,),
        tasks=tuple(range(len(source.tasks))),
        outcomes=(outcomes,),
        count=sum(letter != "." for letter in outcomes),
    )


def begun(one: Any, *events: Any, source: RunModel) -> RunModel:
    """The run up to its plan, then the events."""
    model = RunModel(RunState(one.workspace, one.run))
    first = one.records()[:2]
    for record in first:
        model.step(record, one.lock)
    for place, event in enumerate(events, len(first) + 1):
        record: Recorded = first[0].model_copy(update={"sequence": place, "writer": "scheduler", "event": event})
        model.step(record, None, source)
    return model


def letters(source: RunModel) -> str:
    of = {"passed": "p", "failed": "f"}
    return "".join(of[str(source.results[f"0-{task}-1"].outcome)] for task in range(len(source.tasks)))


def test_a_row_that_is_taken_over_says_what_the_sources_says(history: Any) -> None:
    source = told(history(3, run="source"))
    model = begun(history(3, run="later"), reused(source, letters(source)), source=source)
    assert sorted(model.results) == ["0-0-1", "0-1-1", "0-2-1"]
    for key, row in model.results.items():
        original = source.results[key]
        assert {name: getattr(row, name) for name in row.__slots__ if name not in OWN} == {
            name: getattr(original, name) for name in original.__slots__ if name not in OWN
        }
        assert (row.run, row.reused_run, row.reused_attempt) == ("later", "source", key)
        assert (row.sandbox_seconds, row.sandbox_use) == (None, None), "the source paid for its sandbox"


def test_the_run_counts_them_and_pays_nothing(history: Any) -> None:
    source = told(history(3, run="source"))
    model = begun(history(3, run="later"), reused(source, letters(source)), source=source)
    (agent,) = agent_rows(model)
    assert (agent["reused"], agent["passed"] + agent["failed"]) == (3, 3)
    assert (agent["cost_usd"], agent["input_tokens"], agent["sandbox_seconds"]) == (None, None, None)
    row = run_row(model)
    assert (row["reused"], row["reused_from"], row["dispatches"]) == (3, "source", 0)


def test_what_was_taken_over_twice_is_still_the_first_runs(history: Any) -> None:
    first = told(history(3, run="first"))
    second = begun(history(3, run="second"), reused(first, letters(first)), source=first)
    third = begun(history(3, run="third"), reused(second, letters(first)), source=second)
    assert {(row.reused_run, row.reused_attempt) for row in third.results.values()} == {
        ("first", key) for key in first.results
    }


def test_a_source_without_the_result_is_an_error_not_a_guess(history: Any) -> None:
    source = told(history(3, run="source"))
    del source.results["0-1-1"]
    with pytest.raises(ValueError, match=r"lacks the result 0-1-1"):
        begun(history(3, run="later"), reused(source, letters(told(history(3)))), source=source)


def test_sandbox_use_is_priced_by_the_rates_of_the_submission(history: Any) -> None:
    model = told(history(3))
    (agent,) = agent_rows(model)
    sandboxes = 3
    assert agent["sandbox_seconds"] == pytest.approx(2.5 * sandboxes)
    assert agent["cpu_seconds"] == pytest.approx(0.25 * sandboxes)
    assert agent["memory_peak_bytes"] == 2 * 2**20
    assert agent["sandbox_cost_usd"] == pytest.approx(2.5 * sandboxes * 3.6 / 3600)
    assert replace(model.results["0-0-1"]).sandbox_use == (
        '[{"phase":"environment","seconds":0.5,"cpu_seconds":null,"memory_peak_bytes":null},'
        '{"phase":"agent","seconds":2.0,"cpu_seconds":0.25,"memory_peak_bytes":2097152}]'
    )
