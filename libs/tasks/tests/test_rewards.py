from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.tasks import RewardError, combine_steps, gate_failure, passed, read_rewards, score

D = Decimal

READ = [
    ({"reward.txt": b"1"}, {"reward": D(1)}),
    ({"reward.txt": b" 0.1\n"}, {"reward": D("0.1")}),
    ({"reward.txt": b"7"}, {"reward": D(7)}),
    ({"reward.txt": b"-2.5e-3"}, {"reward": D("-0.0025")}),
    ({"reward.json": b'{"reward": 0.3}'}, {"reward": D("0.3")}),
    ({"reward.json": b'{"a": true, "b": 0, "c": 1.5}'}, {"a": D(1), "b": D(0), "c": D("1.5")}),
    ({"reward.json": b'{"reward": 1}', "reward.txt": b"0"}, {"reward": D(1)}),
    ({"reward.json": b'{"reward": 1}', "reward.txt": b""}, {"reward": D(1)}),
    ({"test-stdout.txt": b"noise", "reward.txt": b"1"}, {"reward": D(1)}),
]

REFUSED: list[tuple[dict[str, bytes], str]] = [
    ({}, "reward_missing"),
    ({"rewards.json": b'{"reward": 1}'}, "reward_missing"),
    ({"reward.txt": b""}, "reward_empty"),
    ({"reward.txt": b" \n"}, "reward_empty"),
    ({"reward.json": b"", "reward.txt": b"1"}, "reward_empty"),
    ({"reward.txt": b"passed"}, "reward_unparsable"),
    ({"reward.txt": b"1 2"}, "reward_unparsable"),
    ({"reward.txt": b"\xff\xfe"}, "reward_unparsable"),
    ({"reward.txt": b"nan"}, "reward_not_finite"),
    ({"reward.txt": b"-inf"}, "reward_not_finite"),
    ({"reward.txt": b"1e999"}, "reward_not_finite"),
    ({"reward.json": b"0.5"}, "reward_unparsable"),
    ({"reward.json": b"[1]"}, "reward_unparsable"),
    ({"reward.json": b"null"}, "reward_unparsable"),
    ({"reward.json": b'{"reward": "1"}'}, "reward_unparsable"),
    ({"reward.json": b'{"reward": null}'}, "reward_unparsable"),
    ({"reward.json": b'{"reward": {"a": 1}}'}, "reward_unparsable"),
    ({"reward.json": b'{"reward": 1'}, "reward_unparsable"),
    ({"reward.json": b'{"reward": 0, "reward": 1}'}, "reward_unparsable"),
    ({"reward.json": b'{"a\\u0000": 1}'}, "reward_unparsable"),
    ({"reward.json": b"[" * 100_000}, "reward_unparsable"),
    ({"reward.json": b'{"a": ' + b"9" * 5000 + b"}"}, "reward_unparsable"),
    ({"reward.json": b'{"reward": NaN}'}, "reward_not_finite"),
    ({"reward.json": b'{"reward": 1, "b": Infinity}'}, "reward_not_finite"),
    ({"reward.json": b'{"reward": 1e309}'}, "reward_not_finite"),
    ({"reward.json": b'{"reward": ' + b"9" * 400 + b"}"}, "reward_not_finite"),
    ({"reward.json": b"{}"}, "reward_no_keys"),
]


@pytest.mark.parametrize(("files", "expected"), READ)
def test_rewards_that_count(files: Mapping[str, bytes], expected: Mapping[str, Decimal]) -> None:
    assert read_rewards(files) == expected


@pytest.mark.parametrize(("files", "kind"), REFUSED)
def test_everything_else_is_a_typed_error(files: Mapping[str, bytes], kind: str) -> None:
    with pytest.raises(RewardError) as refused:
        read_rewards(files)
    assert refused.value.kind == kind


@given(st.dictionaries(st.sampled_from(["reward.json", "reward.txt"]), st.binary(max_size=40)))
def test_any_output_is_either_numbers_or_a_typed_error(files: dict[str, bytes]) -> None:
    try:
        rewards = read_rewards(files)
    except RewardError:
        return
    assert rewards
    assert all(value.is_finite() for value in rewards.values())


@pytest.mark.parametrize(
    ("rewards", "key", "expected"),
    [
        ({"reward": D(1), "other": D(0)}, "other", D(1)),
        ({"accuracy": D("0.5")}, None, D("0.5")),
        ({"accuracy": D("0.5")}, "style", D("0.5")),
        ({"accuracy": D("0.5"), "style": D(1)}, "style", D(1)),
    ],
)
def test_which_reward_is_the_score(rewards: dict[str, Decimal], key: str | None, expected: Decimal) -> None:
    assert score(rewards, key) == expected


@pytest.mark.parametrize(
    ("rewards", "key", "kind"),
    [
        ({"a": D(1), "b": D(1)}, None, "reward_ambiguous"),
        ({"a": D(1), "b": D(1)}, "c", "reward_ambiguous"),
        ({}, "a", "reward_no_keys"),
    ],
)
def test_a_score_is_never_guessed(rewards: dict[str, Decimal], key: str | None, kind: str) -> None:
    with pytest.raises(RewardError) as refused:
        score(rewards, key)
    assert refused.value.kind == kind


def test_the_threshold_is_compared_as_decimals() -> None:
    assert passed(read_rewards({"reward.txt": b"0.7"})["reward"], D("0.7"))
    assert not passed(read_rewards({"reward.txt": b"0.69999999999999995"})["reward"] - D("1e-16"), D("0.7"))
    tenths = [read_rewards({"reward.txt": b"0.1"})] * 3
    assert passed(combine_steps("mean", tenths)["reward"], D("0.1"))


@given(
    st.lists(
        st.none() | st.dictionaries(st.sampled_from("abc"), st.decimals(0, 1, places=3), max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_the_mean_is_by_key_over_the_steps_with_a_result(steps: list[dict[str, Decimal] | None]) -> None:
    graded = [step for step in steps if step is not None]
    if not graded:
        with pytest.raises(RewardError, match="no verifier result"):
            combine_steps("mean", steps)
        return
    combined = combine_steps(None, steps)
    assert set(combined) == {key for step in graded for key in step}
    for key, value in combined.items():
        exact = sum((Fraction(step.get(key, D(0))) for step in graded), Fraction(0)) / len(graded)
        assert abs(Fraction(value) - exact) < Fraction(1, 10**20)


def test_final_takes_the_last_step_as_it_is() -> None:
    assert combine_steps("final", [{"reward": D(0)}, {"reward": D(1), "x": D(2)}]) == {"reward": D(1), "x": D(2)}
    with pytest.raises(RewardError) as refused:
        combine_steps("final", [{"reward": D(1)}, None])
    assert refused.value.kind == "reward_missing"


@pytest.mark.parametrize(
    ("least", "rewards", "stops"),
    [
        (None, None, False),
        (None, {"reward": D(0)}, False),
        (0.5, {"reward": D("0.5")}, False),
        (0.5, {"reward": D("0.4")}, True),
        (0.5, {"other": D(1)}, True),
        (0.0, None, True),
        ({"a": 1.0}, {"a": D(1), "reward": D(0)}, False),
        ({"a": 1.0, "b": 0.2}, {"a": D(1)}, True),
        (float("-inf"), None, False),
    ],
)
def test_gates(least: float | dict[str, float] | None, rewards: dict[str, Decimal] | None, stops: bool) -> None:
    assert (gate_failure(least, rewards) is not None) == stops
