"""What people and budgets do to a run that goes on: pause, stop of one agent, results taken over, spending."""

from collections.abc import Sequence
from typing import Any

import pytest

from proctor.contracts.events import Event
from proctor.contracts.folds.run import RunState, agent_status, apply, reused_cells
from proctor.contracts.metering import PhaseUse, SandboxRates, sandbox_cost


def run_with(histories: Any, *events: Event, agents: int = 1, tasks: int = 1, number: int = 1) -> RunState:
    state = RunState("w", "r")
    for place, event in enumerate([*histories.opening(agents, tasks, number), *events], 1):
        apply(state, histories.record(event, place))
    return state


def test_a_pause_lasts_until_the_run_is_resumed(histories: Any) -> None:
    paused = histories.event("run.paused", reason="maintenance", paused_by="owner")
    resumed = histories.event("run.resumed", resumed_by="owner")
    assert run_with(histories, paused).paused == paused
    assert run_with(histories, paused, resumed).paused is None
    assert run_with(histories, histories.event("run.stopped", reason="enough"), paused).paused is None


def test_one_agent_is_cancelled_and_the_other_goes_on(histories: Any) -> None:
    passed = histories.walk([0] * 8, 1, 1, 1, 1)[0][2:]
    asked = histories.event("run.agent_stop_requested", agent=0, reason="too dear", requested_by="owner")
    cancelled = histories.event("run.attempts_cancelled", reason="too dear", agent=0)
    state = run_with(histories, *passed, asked, cancelled, cancelled, agents=2, tasks=2)
    assert state.agent_stops == {0: "too dear"}
    assert state.attempt("0-0-1").status == "passed"
    assert state.attempt("0-1-1").status == "cancelled"
    assert [state.attempt(f"1-{task}-1").status for task in (0, 1)] == ["planned", "planned"]
    assert (agent_status(state, 0), agent_status(state, 1)) == ("stopped", "pending")
    assert not state.cancelled
    assert state.settled == 2


def reused(histories: Any, outcomes: Sequence[str], agents: Sequence[int | None], tasks: Sequence[int | None]) -> Event:
    return histories.event(
        "run.results_reused",
        source="s",
        source_name="brave-heron",
        position=9,
        agents=agents,
        tasks=tasks,
        outcomes=outcomes,
        count=sum(text.count("p") + text.count("f") for text in outcomes),
    )


def test_results_of_another_run_are_outcomes_that_count(histories: Any) -> None:
    event = reused(histories, ["p.f.", ""], [1, None], [0, 3])
    state = run_with(histories, event, agents=2, tasks=2, number=2)
    assert {key: attempt.status for key, attempt in state.attempts.items()} == {"0-0-1": "passed", "0-1-1": "failed"}
    assert all(attempt.counts for attempt in state.attempts.values())
    assert state.planned is not None
    assert state.reused is not None
    assert [(str(cell), str(source)) for cell, source, _ in reused_cells(state.planned, state.reused)] == [
        ("0-0-1", "1-0-1"),
        ("0-1-1", "1-3-1"),
    ]


def test_what_is_taken_over_stays_within_the_plan_and_comes_once(histories: Any) -> None:
    beyond = reused(histories, ["pppp"], [0], [0, 1, 2, 3])
    state = run_with(histories, beyond, reused(histories, ["f"], [0], [0]), tasks=1, number=1)
    assert {key: attempt.status for key, attempt in state.attempts.items()} == {"0-0-1": "passed"}


def test_spending_is_every_tries_and_dispatches_leave_lost_ones_out(histories: Any) -> None:
    place = histories.Place(epoch=1)
    first = histories.walk([0] * 4, 1, 1, 1, 1)[0][2:]
    dear = histories.of_attempt("attempt.agent_finished", "0-0-1", 1, place, usage={"cost_usd": 1.25})
    absurd = histories.of_attempt("attempt.agent_finished", "0-0-1", 1, place, usage={"cost_usd": 1e300})
    lost = histories.of_attempt("attempt.lease_lost", "0-0-1", 1, place)
    assert run_with(histories, *first, dear).llm_usd == 1.25
    assert run_with(histories, *first, absurd).llm_usd == 0
    assert run_with(histories, *first).dispatches == 1
    assert run_with(histories, *first, lost).dispatches == 0


def test_a_retry_that_comes_too_late_changes_nothing(histories: Any) -> None:
    place = histories.Place(epoch=1)
    errored = [
        *histories.walk([0] * 2, 1, 1, 1, 1)[0][2:],
        histories.of_attempt("attempt.lease_lost", "0-0-1", 1, place),
        histories.of_attempt("attempt.settled", "0-0-1", 1, place),
    ]
    retry = histories.of_attempt("attempt.retry_requested", "0-0-1", 1, place)
    stop = histories.event("run.stop_requested", reason="enough", requested_by="owner")
    agent = histories.event("run.agent_stop_requested", agent=0, reason="enough", requested_by="owner")
    reached = histories.event("run.budget_reached", scope="run", unit="usd", limit=1, used=2)
    assert run_with(histories, *errored, retry).attempt("0-0-1").status == "retry_wait"
    for ending in (stop, agent, reached, histories.event("run.attempts_cancelled", reason="enough")):
        assert run_with(histories, *errored, ending, retry).attempt("0-0-1").status == "errored"
    finished = histories.event("run.finished", passed=0, failed=0, errored=1, cancelled=0)
    assert run_with(histories, *errored, retry, finished).attempt("0-0-1").status == "cancelled"


@pytest.mark.parametrize(
    ("use", "rates", "dollars"),
    [
        ({"seconds": 3600}, {"hour": 0.5}, 0.5),
        ({"seconds": 3600, "cpu_seconds": 7200}, {"cpu_hour": 0.04}, 0.08),
        ({"seconds": 1800, "memory_peak_bytes": 4 * 2**30}, {"gibibyte_hour": 0.01}, 0.02),
        ({"seconds": 3600}, {"cpu_hour": 9, "gibibyte_hour": 9}, 0),
        ({"seconds": 3600, "cpu_seconds": 3600, "memory_peak_bytes": 2**30}, {}, 0),
    ],
)
def test_a_sandbox_costs_its_time_its_cpu_and_its_memory(
    use: dict[str, float], rates: dict[str, float], dollars: float
) -> None:
    parts = [PhaseUse.model_validate({"phase": "agent", **use})]
    assert sandbox_cost(parts, SandboxRates(**rates)) == pytest.approx(dollars)
    assert sandbox_cost(parts * 3, SandboxRates(**rates)) == pytest.approx(3 * dollars)
