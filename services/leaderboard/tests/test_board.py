"""Who is on a board, by which run, and why the others aren't."""

from typing import Any

import pytest

from proctor.contracts.folds.run import RunState
from proctor.leaderboard.board import board
from proctor.leaderboard.entry import Entry, entries
from proctor.leaderboard.run import RunModel


def ended(one: Any, offset: int = 0) -> tuple[Entry, ...]:
    model = RunModel(RunState(one.workspace, one.run))
    for record in one.records():
        later = record.model_copy(update={"sequence": record.sequence + offset})
        changes = model.step(later, one.lock if record.event.type == "run.planned" else None)
        if changes is not None and changes.ended:
            return entries(model)
    raise AssertionError("the history has no end")


@pytest.mark.parametrize(
    ("shape", "rules"),
    [
        ({}, ()),
        ({"task_set": "parity"}, ()),
        ({"task_set": "subset"}, ("task_subset",)),
        ({"stop": True, "tasks": 9}, ("run_not_finished", "agent_not_finished", "missing_results")),
    ],
)
def test_the_rules(history: Any, shape: dict[str, Any], rules: tuple[str, ...]) -> None:
    (entry,) = ended(history(seed=8, **shape))
    assert tuple(rule for rule in entry.rules if rule != "no_pass_at_1") == rules
    assert entry.eligible == (not rules)


def test_an_attempt_without_a_counted_result_keeps_its_agent_off(history: Any) -> None:
    """Seed by seed: an errored attempt and eligibility exclude one another."""
    seen = set[bool]()
    for seed in range(40):
        (entry,) = ended(one := history(seed=seed, wild=True, tasks=3, agents=("oracle",)))
        seen.add(entry.eligible)
        assert entry.eligible == (one.tally["errored"] == 0)
        assert ("missing_results" in entry.rules) == (one.tally["errored"] > 0)
    assert seen == {True, False}


def test_an_agent_whose_results_all_errored_has_failed_and_has_no_score(history: Any) -> None:
    (entry,) = ended(history(broken=True))
    assert entry.rules == ("agent_not_finished", "missing_results", "no_pass_at_1")


def test_of_one_entrant_twice_in_a_run_the_later_counts(history: Any) -> None:
    first, second = ended(history(agents=("oracle", "oracle")))
    assert (first.rules, second.rules) == (("superseded_in_run",), ())
    shown = board(99, [first, second])
    assert [row["agent"] for row in shown["rows"]] == [1]


def test_agents_of_different_names_are_two_entrants(history: Any) -> None:
    first, second, third = ended(history(agents=("command:brave", "command:careful", "command")))
    assert first.rules == second.rules == third.rules == ()
    shown = {
        row["entrant"]: (row["name"], row["harness"], row["agent"]) for row in board(9, [first, second, third])["rows"]
    }
    assert shown == {
        "command (brave)": ("brave", "command", 0),
        "command (careful)": ("careful", "command", 1),
        "command": (None, "command", 2),
    }


def test_a_rerun_moves_the_row_instead_of_adding_one(history: Any) -> None:
    old = ended(history(seed=1, run="old", pass_rate=1.0))
    new = ended(history(seed=2, run="new", pass_rate=0.0), offset=1000)
    for order in ([*old, *new], [*new, *old]):
        (row,) = board(2000, order)["rows"]
        assert (row["run"], row["metrics"]["pass_at_1"]["value"]) == ("new", 0.0)


def test_later_means_in_the_log_wherever_the_agent_stands_in_its_run(history: Any) -> None:
    old = ended(history(run="old", agents=("nop", "oracle")))
    new = ended(history(run="new", agents=("oracle",)), offset=1000)
    rows = {row["entrant"]: row["run"] for row in board(2000, [*old, *new])["rows"]}
    assert rows == {"nop": "old", "oracle": "new"}


def test_a_later_run_that_fails_a_rule_leaves_the_score_and_is_listed_below(history: Any) -> None:
    good = ended(history(seed=1, run="good", pass_rate=1.0))
    partial = ended(history(seed=2, run="partial", task_set="subset"), offset=1000)
    shown = board(2000, [*good, *partial])
    assert [row["run"] for row in shown["rows"]] == ["good"]
    assert [(row["run"], row["rules"]) for row in shown["ineligible"]] == [("partial", ["task_subset"])]


def test_an_older_ineligible_run_is_not_listed(history: Any) -> None:
    partial = ended(history(seed=2, run="partial", task_set="subset"))
    good = ended(history(seed=1, run="good"), offset=1000)
    assert board(2000, [*partial, *good])["ineligible"] == []


def test_ranks_skip_after_a_tie_and_only_the_same_measurement_ties(history: Any) -> None:
    def of(harness: str, rate: float, offset: int, **shape: Any) -> tuple[Entry, ...]:
        one = history(run=harness, agents=(harness,), tasks=30, pass_rate=rate, seed=offset, **shape)
        return ended(one, offset)

    field = [
        *of("best", 1.0, 1000),
        *of("twin", 1.0, 2000),
        *of("worst", 0.0, 3000),
        *of("other-version", 1.0, 4000, version="v2"),
    ]
    standings = {row["entrant"]: row for row in board(9000, field)["ranks"]["pass_at_1"]["standings"]}
    assert {name: (row["rank"], row["tied"]) for name, row in standings.items()} == {
        "best": (1, False),
        "twin": (1, True),
        "other-version": (3, False),
        "worst": (4, False),
    }
    assert standings["other-version"]["reasons"] == ["version"]
    assert standings["other-version"]["comparison"] is None
    assert standings["worst"]["comparison"]["losses"] == 30


@pytest.mark.parametrize(
    ("tasks", "rates", "tied", "too_few"),
    [
        (4, (1.0, 0.0), True, True),
        (5, (1.0, 0.0), False, False),
        (5, (1.0, 1.0), True, False),
        (5, (1.0, 1.0, 0.0), True, True),
        (6, (1.0, 1.0, 0.0), True, False),
    ],
)
def test_a_tie_says_whether_the_tasks_could_have_decided(
    history: Any, tasks: int, rates: tuple[float, ...], tied: bool, too_few: bool
) -> None:
    """Better on each of n tasks is 2 of 2**n equally likely signs, counted half: p is 1/16 of 4 tasks, 1/32 of 5;
    with two tests it is doubled."""
    shapes = [{"run": f"r{place}", "agents": (f"command:{place}",)} for place in range(len(rates))]
    entries = [
        entry
        for place, rate in enumerate(rates)
        for entry in ended(history(tasks=tasks, pass_rate=rate, **shapes[place]), offset=1000 * place)
    ]
    standings = board(9000, entries)["ranks"]["pass_at_1"]["standings"]
    comparison = standings[1]["comparison"]
    assert (standings[1]["tied"], comparison["tasks"], comparison["too_few_tasks"]) == (tied, tasks, too_few)


def test_a_board_of_nobody_is_empty() -> None:
    shown = board(1, [])
    assert (shown["rows"], shown["ineligible"], shown["pareto"]) == ([], [], [])
    assert shown["ranks"]["pass_at_1"]["leader"] is None
