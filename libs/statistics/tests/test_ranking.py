# pyright: basic
from collections.abc import Callable
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from proctor.statistics import Board, Entrant, Metric, Rate, default_k, holm, pareto, rank

type Build = Callable[..., Entrant]

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=25)
FIELDS = st.lists(st.lists(st.integers(0, 3), min_size=12, max_size=12), min_size=1, max_size=6)


def ranks(board: Board) -> list[tuple[str, int | None]]:
    return [(row.entrant, row.rank) for row in board.standings]


@given(P_VALUES)
@settings(max_examples=10)
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-15)


@given(P_VALUES, st.lists(st.floats(0, 1), max_size=10))
def test_more_tests_never_lower_an_adjusted_p(p_values: list[float], more: list[float]) -> None:
    for before, after in zip(holm(p_values), holm(p_values + more), strict=False):
        assert after >= before


def test_an_empty_board_and_a_board_of_one(entrant: Build) -> None:
    assert rank([], Metric.PASS_AT_1) == Board(Metric.PASS_AT_1, None, 0.05, None, ())
    (only,) = rank([entrant("only", [1, 0])], Metric.PASS_AT_1).standings
    assert (only.rank, only.tied, only.comparison, only.comparable) == (1, False, None, True)


def test_tied_entrants_share_rank_1_and_the_next_is_third(entrant: Build) -> None:
    board = rank(
        [entrant("last", [0] * 10), entrant("second", [1] * 9 + [0]), entrant("best", [1] * 10)], Metric.PASS_AT_1
    )
    assert board.leader == "best"
    assert ranks(board) == [("best", 1), ("second", 1), ("last", 3)]
    assert [row.tied for row in board.standings] == [False, True, False]
    best, second, last = board.standings
    assert best.comparison is None
    assert second.comparison
    assert (second.comparison.p, second.comparison.p_adjusted) == (0.5, 0.5)
    assert last.comparison
    assert (last.comparison.p, last.comparison.p_adjusted) == (2**-10, 2**-9)
    assert isinstance(best.value, Rate)
    assert best.value.low == pytest.approx(0.722467, abs=5e-7)


def test_all_pass_are_tied_in_order_of_finish_then_name(entrant: Build) -> None:
    rows = [entrant(name, [1] * 5, finished=at) for name, at in [("c", 2), ("a", 2), ("b", 1)]]
    for order in permutations(rows):
        assert ranks(rank(order, Metric.PASS_AT_1)) == [("b", 1), ("a", 1), ("c", 1)]


def test_equal_values_below_the_tie_group_share_a_rank(entrant: Build) -> None:
    board = rank(
        [
            entrant("best", [1] * 40),
            entrant("low-2", [1] * 10 + [0] * 30, finished=2),
            entrant("low-1", [0] * 30 + [1] * 10, finished=1),
            entrant("lowest", [0] * 40),
        ],
        Metric.PASS_AT_1,
    )
    assert ranks(board) == [("best", 1), ("low-1", 2), ("low-2", 2), ("lowest", 4)]


def test_a_noisy_entrant_can_be_tied_below_a_steadier_one(entrant: Build) -> None:
    best = [1] * 10 + [0] * 20
    steady = [0] * 6 + [1] * 4 + [0] * 20  # loses 6, wins none
    noisy = [0] * 10 + [1] * 3 + [0] * 17  # loses 10, wins 3
    board = rank([entrant("best", best), entrant("steady", steady), entrant("noisy", noisy)], Metric.PASS_AT_1)
    assert ranks(board) == [("best", 1), ("noisy", 1), ("steady", 3)]


def test_another_entrant_can_tie_one_that_was_apart(entrant: Build) -> None:
    # five discordant tasks: p = .03125, apart alone, tied when two are tested (2 x .03125 > .05)
    best, five = entrant("best", [1] * 5 + [0] * 5), entrant("five", [0] * 10)
    assert ranks(rank([best, five], Metric.PASS_AT_1)) == [("best", 1), ("five", 2)]
    more = entrant("more", [0] * 10, finished=2)
    assert ranks(rank([best, five, more], Metric.PASS_AT_1)) == [("best", 1), ("five", 1), ("more", 1)]


@given(FIELDS)
def test_ranks_follow_the_published_rule(entrant: Build, field: list[list[int]]) -> None:
    board = rank([entrant(f"e{i}", successes, 3) for i, successes in enumerate(field)], Metric.PASS_AT_1)
    leader, *others = board.standings
    tests = [row.comparison for row in others if row.comparison]
    assert len(tests) == len(others)
    assert [test.p_adjusted for test in tests] == holm([test.p for test in tests])
    assert [row.tied for row in others] == [test.p_adjusted > 0.05 for test in tests]
    values = {row.entrant: row.value.value for row in board.standings if row.value}
    assert values[leader.entrant] == max(values.values())
    group = 1 + sum(row.tied for row in others)
    rest = [values[row.entrant] for row in others if not row.tied]
    assert [row.rank for row in board.standings] == [1] * group + [
        group + 1 + sorted(rest)[::-1].index(v) for v in rest
    ]
    assert rest == sorted(rest, reverse=True)


@given(FIELDS, st.integers())
@settings(max_examples=20)
def test_order_of_entrants_and_tasks_changes_no_bit(entrant: Build, field: list[list[int]], seed: int) -> None:
    random = Random(seed)
    order = random.sample(range(12), 12)
    names = tuple(f"t{i:04}" for i in order)

    def row(i: int, shuffled: bool) -> Entrant:
        costs = tuple(0.1 * (i + 1) * (1 + passed) + j for j, passed in enumerate(field[i]))
        if not shuffled:
            return entrant(f"e{i}", field[i], 3, costs=costs)
        return entrant(f"e{i}", [field[i][j] for j in order], 3, tasks=names, costs=tuple(costs[j] for j in order))

    straight = [row(i, shuffled=False) for i in range(len(field))]
    shuffled = random.sample([row(i, shuffled=True) for i in range(len(field))], len(field))
    for metric in (Metric.PASS_AT_1, Metric.PASS_AT_K, Metric.COST):
        assert repr(rank(shuffled, metric)) == repr(rank(straight, metric))


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"version": "2.0"}, ("version",)),
        ({"tasks": tuple(f"u{i}" for i in range(10))}, ("task_set",)),
        ({"version": "2.0", "tasks": tuple(f"u{i}" for i in range(10))}, ("version", "task_set")),
    ],
)
def test_what_is_not_comparable_is_ranked_by_value_but_never_tied(
    entrant: Build, fields: dict[str, object], reasons: tuple[str, ...]
) -> None:
    rows = [
        entrant("best", [1] * 10),
        entrant("equal", [1] * 10, finished=2, **fields),
        entrant("tied", [1] * 9 + [0]),
        entrant("last", [0] * 10),
    ]
    board = rank(rows, Metric.PASS_AT_1)
    assert ranks(board) == [("best", 1), ("tied", 1), ("equal", 3), ("last", 4)]
    equal = board.standings[2]
    assert (equal.tied, equal.comparable, equal.reasons, equal.comparison) == (False, False, reasons, None)
    # it takes no part in Holm's adjustment: one test besides the tied one
    assert board.standings[3].comparison
    assert board.standings[3].comparison.p_adjusted == 2 * 2**-10


def test_an_entrant_with_a_missing_attempt_is_shown_without_a_rank(entrant: Build) -> None:
    board = rank(
        [entrant("holed", [2] * 4 + [1], 2, attempts=(2, 2, 2, 2, 1)), entrant("whole", [0, 1, 0, 0, 0], 2)],
        Metric.PASS_AT_1,
    )
    whole, holed = board.standings
    assert (board.leader, whole.rank) == ("whole", 1)
    assert (holed.entrant, holed.rank, holed.reasons, holed.comparable) == ("holed", None, ("incomplete",), False)
    assert isinstance(holed.value, Rate)
    assert (holed.value.value, holed.value.provisional) == (1.0, True)


def test_lower_cost_is_better_and_unknown_is_last_and_never_tied(entrant: Build) -> None:
    passed = [1] * 20
    board = rank(
        [
            entrant("unknown", passed, costs=(0.1,) * 19 + (None,)),
            entrant("silent", passed, finished=2),
            entrant("dear", passed, costs=tuple(2.0 + i / 10 for i in range(20))),
            entrant("cheap", passed, costs=tuple(1.0 + i / 10 for i in range(20))),
            entrant("close", passed, costs=tuple(1.0 + i / 10 + (0.2 if i % 2 else -0.1) for i in range(20))),
        ],
        Metric.COST,
    )
    assert ranks(board) == [("cheap", 1), ("close", 1), ("dear", 3), ("unknown", None), ("silent", None)]
    assert [row.reasons for row in board.standings[3:]] == [("unreported",), ("unreported",)]
    assert [row.value for row in board.standings[3:]] == [None, None]
    dear = board.standings[2].comparison
    assert dear
    assert (dear.difference, dear.wins, dear.losses) == (pytest.approx(1.0), 0, 20)


def test_default_k_is_the_most_that_all_repeated_entrants_have(entrant: Build) -> None:
    once, thrice, five = entrant("once", [1, 0]), entrant("thrice", [1, 3], 3), entrant("five", [5, 0], 5)
    holed = entrant("holed", [0, 0], 2, attempts=(2, 1))
    assert default_k([once, thrice, five, holed]) == 3
    assert default_k([once]) is None
    board = rank([once, thrice, five], Metric.PASS_AT_K)
    assert board.k == 3
    assert ranks(board) == [("thrice", 1), ("five", 1), ("once", None)]
    assert (board.standings[2].value, board.standings[2].reasons) == (None, ("metric_k",))


def test_k_can_be_chosen_and_leaves_out_those_with_fewer_attempts(entrant: Build) -> None:
    rows = [entrant("thrice", [1, 3], 3), entrant("five", [5, 0], 5)]
    assert ranks(rank(rows, Metric.PASS_AT_K, 5)) == [("five", 1), ("thrice", None)]
    assert ranks(rank(rows, Metric.PASS_HAT_K, 3)) == [("five", 1), ("thrice", 1)]


def test_nobody_has_k_attempts(entrant: Build) -> None:
    board = rank([entrant("once", [1, 0])], Metric.PASS_AT_K)
    assert (board.k, board.leader, ranks(board)) == (None, None, [("once", None)])


@pytest.mark.parametrize(
    ("names", "metric", "k", "message"),
    [
        ("aa", Metric.PASS_AT_1, None, "two entrants have the same name"),
        ("ab", Metric.PASS_AT_1, 2, "k is 2; pass_at_1 takes no k"),
        ("ab", Metric.PASS_AT_K, 0, "k is 0; pass_at_k takes k >= 1"),
    ],
)
def test_impossible_boards_are_refused(entrant: Build, names: str, metric: Metric, k: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank([entrant(name, [1, 0]) for name in names], metric, k)


def test_pareto_front_of_score_and_cost(entrant: Build) -> None:
    def row(name: str, passed: int, cost: float | None, **fields: object) -> Entrant:
        return entrant(name, [1] * passed + [0] * (20 - passed), costs=(cost,) * 20, **fields)

    rows = [
        row("best", 20, 5.0),
        row("near", 19, 3.0),
        row("same", 19, 3.0, finished=2),
        row("dominated", 18, 4.0),
        row("cheap", 5, 1.0),
        row("dear", 5, 2.0),
        row("unknown", 20, None, finished=3),
        row("older", 20, 0.5, finished=4, version="0.9"),
    ]
    points = pareto(rank(rows, Metric.PASS_AT_1), rank(rows, Metric.COST))
    assert [(point.entrant, point.on_front, point.tied) for point in points] == [
        ("cheap", True, False),
        ("dear", False, False),
        ("near", True, True),
        ("same", True, True),
        ("dominated", False, True),
        ("best", True, True),
    ]
    assert [point.cost for point in points] == [1, 2, 3, 3, 4, 5]
    assert [point.score for point in points] == [0.25, 0.25, 0.95, 0.95, 0.9, 1]
