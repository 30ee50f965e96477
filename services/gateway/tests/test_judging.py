"""Who judges a benchmark decides what a run may and must say of the judge."""

from typing import Any

import pytest
from pydantic import ValidationError

from proctor.contracts.judge import JudgeRule
from proctor.gateway.submission import parse
from proctor.gateway.submission.judging import judging

KEY, MODEL = "execution.judge_api_key_secret", "execution.judge_model"
PINNED = {"kind": "key", "key_variable": "OPENAI_API_KEY"}
CHOSEN = {"kind": "model", "key_variable": "JUDGE_KEY", "model_variable": "JUDGE"}
BOTH = {"judge_model": "large", "judge_api_key_secret": "MINE"}


@pytest.mark.parametrize(
    ("rule", "execution", "keys"),
    [
        (None, {}, []),
        (None, BOTH, [MODEL, KEY]),
        (PINNED, {}, [KEY]),
        (PINNED, {"judge_api_key_secret": "MINE"}, []),
        (PINNED, BOTH, [MODEL]),
        (CHOSEN, {}, [KEY, MODEL]),
        (CHOSEN, {"judge_api_key_secret": "MINE"}, [MODEL]),
        (CHOSEN, BOTH, []),
        ({**CHOSEN, "default_model": "small"}, {"judge_api_key_secret": "MINE"}, []),
        (CHOSEN, {"judge_model": 7, "judge_api_key_secret": "not a name"}, []),
    ],
)
def test_the_rule_of_the_benchmark(rule: dict[str, Any] | None, execution: dict[str, Any], keys: list[str]) -> None:
    submission = parse({"experiment_config": {"benchmark": "b"}, "agents": [{}], "execution_config": execution})
    found = judging(submission, JudgeRule.model_validate(rule) if rule else None, managed=False)
    assert [issue.key for issue in found] == keys


@pytest.mark.parametrize("managed", [True, False])
def test_only_added_benchmarks_take_secrets_for_their_verifier(managed: bool) -> None:
    body: dict[str, Any] = {
        "experiment_config": {"benchmark": "b"},
        "agents": [{}],
        "execution_config": {"verifier_secrets": ["A"]},
    }
    found = [issue.key for issue in judging(parse(body), None, managed=managed)]
    assert found == (["verifier.required"] if managed else [])


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "model", "key_variable": "K"},
        {**PINNED, "model_variable": "M"},
        {**PINNED, "default_model": "m"},
        {**PINNED, "key_variable": "not a name"},
        {"kind": "both", "key_variable": "K"},
    ],
)
def test_a_rule_that_says_half_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        JudgeRule.model_validate(rule)
