"""From what a verifier wrote to what is said of the attempt: Harbor's rules, with a typed error where it is silent."""

from collections.abc import Callable
from typing import Any

import pytest

from proctor.contracts.events import Artifacts, AttemptGraded, StepGraded
from proctor.contracts.events.attempt import GradeSeconds
from proctor.contracts.outcomes import POLICY
from proctor.grader.failure import GradingError
from proctor.grader.verdict import failed, verdict

SECONDS = GradeSeconds(startup=0, transfer=0.1, run=1, parse=0)


def txt(text: str) -> dict[str, bytes]:
    return {"reward.txt": text.encode()}


def json(text: str) -> dict[str, bytes]:
    return {"reward.json": text.encode()}


@pytest.mark.parametrize(
    ("files", "threshold", "key", "score", "passed"),
    [
        (txt("1"), "1.0", None, "1.0", True),
        (txt("0.5\n"), "0.5", None, "0.5", True),
        (txt("0.49"), "0.5", None, "0.49", False),
        (txt("0.1"), "0.1", None, "0.1", True),
        (txt("3.5"), "1.0", None, "3.5", True),
        (txt("-1"), "1.0", None, "-1.0", False),
        (json('{"reward": 0.7}'), "0.7", None, "0.7", True),
        (json('{"quality": 0.7}'), "0.7", None, "0.7", True),
        (json('{"reward": true}'), "1.0", None, "1", True),
        (json('{"reward": 0.2, "quality": 0.9}'), "0.5", "quality", "0.2", False),
        (json('{"speed": 0.2, "quality": 0.9}'), "0.5", "quality", "0.9", True),
        ({**txt("0"), **json('{"reward": 1}')}, "1.0", None, "1", True),
    ],
)
def test_a_score_against_its_threshold(
    make_task: Callable[..., Any],
    make_work: Callable[..., Any],
    files: dict[str, bytes],
    threshold: str,
    key: str | None,
    score: str,
    passed: bool,
) -> None:
    artifacts = Artifacts(object="artifact/1", size=1, files=1)
    event = verdict(make_work(threshold=threshold, reward_key=key, round=3), make_task(), files, SECONDS, artifacts)
    assert isinstance(event, AttemptGraded)
    assert (event.score, event.passed, event.threshold) == (score, passed, threshold)
    assert (event.attempt, event.epoch, event.round, event.mode) == ("0-0-1", 1, 3, "shared")
    assert (event.seconds, event.artifacts) == (SECONDS, artifacts)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "reward_missing"),
        ({"rewards.json": b'{"reward": 1}'}, "reward_missing"),
        (txt(""), "reward_empty"),
        (txt(" \n"), "reward_empty"),
        (json(""), "reward_empty"),
        (txt("one"), "reward_unparsable"),
        (json("0.5"), "reward_unparsable"),
        (json("[1]"), "reward_unparsable"),
        (json('{"reward": "1"}'), "reward_unparsable"),
        (json('{"reward": {"a": 1}}'), "reward_unparsable"),
        (json("{"), "reward_unparsable"),
        ({"reward.txt": b"\xff"}, "reward_unparsable"),
        (txt("nan"), "reward_not_finite"),
        (txt("inf"), "reward_not_finite"),
        (json('{"reward": NaN}'), "reward_not_finite"),
        (json("{}"), "reward_no_keys"),
        (json('{"a": 1, "b": 1}'), "reward_ambiguous"),
        ({**txt("1"), **json("broken")}, "reward_unparsable"),
    ],
)
def test_what_is_no_score_is_never_a_failed_agent(
    make_task: Callable[..., Any], make_work: Callable[..., Any], files: dict[str, bytes], kind: str
) -> None:
    with pytest.raises(GradingError) as caught:
        verdict(make_work(), make_task(), files, SECONDS, None)
    assert caught.value.kind == kind
    assert kind in POLICY
    event = failed(make_work(round=2), caught.value, None)
    assert (event.kind, event.round, event.message) == (kind, 2, caught.value.message)
    assert event.message


def step(
    make_task: Callable[..., Any], make_work: Callable[..., Any], number: int, reward: str, **changes: Any
) -> AttemptGraded | StepGraded:
    steps, strategy = changes.pop("steps", ("", "", "")), changes.pop("strategy", "mean")
    task = make_task(steps=steps, strategy=strategy)
    return verdict(make_work(task, step=number, **changes), task, txt(reward), SECONDS, None)


def rewards(*values: str) -> list[dict[str, str]]:
    return [{"reward": value} for value in values]


def test_a_step_with_more_to_come_is_no_verdict(make_task: Callable[..., Any], make_work: Callable[..., Any]) -> None:
    event = step(make_task, make_work, 1, "0.25", step_rewards=rewards("1"))
    assert isinstance(event, StepGraded)
    assert (event.step, event.rewards) == (1, {"reward": "0.25"})


@pytest.mark.parametrize(
    ("strategy", "before", "last", "score"),
    [
        ("mean", ("1", "0.5"), "0", "0.5"),
        ("mean", ("1", "1"), "1", "1"),
        ("final", ("0", "0"), "1", "1.0"),
        ("final", ("1", "1"), "0", "0.0"),
    ],
)
def test_the_last_step_combines_them_all(
    make_task: Callable[..., Any],
    make_work: Callable[..., Any],
    strategy: str,
    before: tuple[str, ...],
    last: str,
    score: str,
) -> None:
    event = step(make_task, make_work, 2, last, step_rewards=rewards(*before), strategy=strategy)
    assert isinstance(event, AttemptGraded)
    assert float(event.score) == float(score)


@pytest.mark.parametrize(
    ("gate", "reward", "stops"),
    [
        ("min_reward = 0.5", "0.4", True),
        ("min_reward = 0.5", "0.5", False),
        ("min_reward = { reward = 0.5 }", "0.4", True),
        ("min_reward = { style = 0.5 }", "1", True),
        ("", "0", False),
    ],
)
def test_a_gate_ends_the_attempt_early(
    make_task: Callable[..., Any], make_work: Callable[..., Any], gate: str, reward: str, stops: bool
) -> None:
    event = step(make_task, make_work, 0, reward, steps=(gate, "", ""))
    assert isinstance(event, AttemptGraded if stops else StepGraded)
    if isinstance(event, AttemptGraded):
        assert float(event.score) == float(reward), "the mean of the steps that have a result"


def test_a_gate_before_the_end_leaves_no_final_reward(
    make_task: Callable[..., Any], make_work: Callable[..., Any]
) -> None:
    with pytest.raises(GradingError) as caught:
        step(make_task, make_work, 0, "0", steps=("min_reward = 1", ""), strategy="final")
    assert caught.value.kind == "reward_missing"


def test_the_mode_is_that_of_the_task(make_task: Callable[..., Any], make_work: Callable[..., Any]) -> None:
    task = make_task({"task.toml": '[verifier]\nenvironment_mode = "separate"\n'})
    event = verdict(make_work(task), task, txt("1"), SECONDS, None)
    assert isinstance(event, AttemptGraded)
    assert event.mode == "separate"
