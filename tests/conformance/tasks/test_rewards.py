"""Whatever Harbor's verifier takes as rewards has our values; what it refuses, or passes on unusable, we refuse."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harbor.models.task.config import StepConfig, TaskConfig
from harbor.models.verifier.result import VerifierResult
from harbor.trial.multi_step import MultiStepTrial
from harbor.verifier.verifier import RewardFileEmptyError, Verifier, VerifierOutputParseError
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor.tasks import RewardError, combine_steps, gate_failure, read_rewards

NUMBERS = st.one_of(st.integers(-9, 9), st.floats(), st.booleans(), st.sampled_from([0.1, 0.30000000000000004, 1e-300]))
VALUES = st.one_of(NUMBERS, NUMBERS, NUMBERS, st.none(), st.text(max_size=3), st.lists(st.integers(), max_size=1))
OBJECTS = st.dictionaries(st.sampled_from(["reward", "accuracy", "style", "é"]), VALUES, max_size=3)
JSON = st.one_of(
    OBJECTS.map(json.dumps),
    VALUES.map(json.dumps),
    st.text(max_size=6),
    st.sampled_from(["", "{", "1e309", "\ufeff{}"]),
)
TEXT = st.one_of(
    st.floats().map(str),
    st.integers().map(str),
    st.text(max_size=4),
    st.sampled_from(["", " 1 \n", "1_0", "inf", "1e999", "0x1", "1,5", "½", "１", "true"]),
)


def _harbor(folder: Path, files: Mapping[str, str]) -> dict[str, float | int] | None:
    """Harbor's rewards, None where it refuses or calls the result invalid."""
    paths = SimpleNamespace(reward_text_path=folder / "reward.txt", reward_json_path=folder / "reward.json")
    verifier: Any = object.__new__(Verifier)
    verifier.trial_paths = paths
    try:
        if paths.reward_json_path.exists():
            rewards = verifier._parse_reward_json()
        elif paths.reward_text_path.exists():
            rewards = verifier._parse_reward_text()
        else:
            return None
        return VerifierResult(rewards=rewards).rewards or None
    except (RewardFileEmptyError, VerifierOutputParseError, ValidationError):
        return None


@settings(max_examples=200, deadline=None)
@given(files=st.fixed_dictionaries({}, optional={"reward.json": JSON, "reward.txt": TEXT}))
def test_reading(tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("verifier")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    theirs = _harbor(folder, files)
    contents = {name: (folder / name).read_bytes() for name in files}
    if theirs is None:
        with pytest.raises(RewardError):
            read_rewards(contents)
    else:
        assert {key: float(value) for key, value in read_rewards(contents).items()} == theirs


STEPS = st.lists(
    st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 4).map(lambda n: n / 4), min_size=1),
    min_size=1,
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, strategy=st.sampled_from(["mean", "final", None]))
def test_combining_steps(steps: list[dict[str, float] | None], strategy: Any) -> None:
    results = [
        SimpleNamespace(verifier_result=None if step is None else VerifierResult(rewards=step)) for step in steps
    ]
    trial: Any = object.__new__(MultiStepTrial)
    trial.task = SimpleNamespace(config=TaskConfig.model_validate({"multi_step_reward_strategy": strategy}))
    trial._result = SimpleNamespace(step_results=results)
    theirs = trial._select_multi_step_reward()
    ours = [None if step is None else read_rewards({"reward.json": json.dumps(step).encode()}) for step in steps]
    if theirs is None:
        with pytest.raises(RewardError):
            combine_steps(strategy, ours)
    else:
        combined = combine_steps(strategy, ours)
        assert combined.keys() == theirs.rewards.keys()
        assert all(math.isclose(combined[key], value) for key, value in theirs.rewards.items())


GATES = st.sampled_from([0.5, 1, float("nan"), float("-inf"), {"a": 0.5}, {"a": 0.5, "b": 0.25}, {}])


@settings(max_examples=200, deadline=None)
@given(
    gate=GATES, step=st.none() | st.dictionaries(st.sampled_from(["reward", "a", "b"]), st.sampled_from([0, 0.5, 1]))
)
def test_gates(gate: Any, step: dict[str, float] | None) -> None:
    gate = StepConfig(name="s", min_reward=gate).min_reward
    ours = None if not step else read_rewards({"reward.json": json.dumps(step).encode()})
    theirs = MultiStepTrial._min_reward_failure(step, gate)
    assert (gate_failure(gate, ours) is None) == (theirs is None)
