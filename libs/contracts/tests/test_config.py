"""A run's configuration: the limits of the design's section 9, its defaults, and what may enter an event."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor.contracts.config import Model, RunConfig, model_label

LEAST: dict[str, Any] = {"experiment": {"benchmark": "first-steps"}, "agents": [{"harness": "oracle"}]}
ENDPOINT = {"type": "endpoint", "base_url": "https://models.example", "model": "m", "api_key_secret": "KEY"}


def test_the_defaults() -> None:
    config = RunConfig.model_validate(LEAST)
    assert config.execution.model_dump() == {
        "attempts_per_task": 1,
        "max_concurrent_attempts": 4,
        "timeout_multiplier": 1.0,
        "max_retries": 0,
        "pass_threshold": None,
        "judge_model": None,
        "judge_api_key_secret": None,
    }
    assert config.tasks.model_dump() == {"task_names": None, "categories": None, "task_set": None}
    assert config.env == {}


@pytest.mark.parametrize(
    ("field", "least", "most", "below", "above"),
    [
        ("attempts_per_task", 1, 64, 0, 65),
        ("max_concurrent_attempts", 1, 256, 0, 257),
        ("timeout_multiplier", 0.1, 20, 0.09, 20.01),
        ("max_retries", 0, 10, -1, 11),
        ("pass_threshold", 0.0001, 1, 0, 1.0001),
    ],
)
def test_limits(field: str, least: float, most: float, below: float, above: float) -> None:
    for value in (least, most):
        config = RunConfig.model_validate({**LEAST, "execution": {field: value}})
        assert getattr(config.execution, field) == value
    for value in (below, above):
        with pytest.raises(ValidationError, match=f"execution.{field}"):
            RunConfig.model_validate({**LEAST, "execution": {field: value}})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"execution": {"attempts_per_task": "3"}}, "execution.attempts_per_task"),
        ({"execution": {"attempts_per_task": 3.0}}, "execution.attempts_per_task"),
        ({"execution": {"max_retries": True}}, "execution.max_retries"),
        ({"execution": {"timeout_multiplier": float("nan")}}, "execution.timeout_multiplier"),
        ({"execution": {"timeout_multiplier": float("inf")}}, "execution.timeout_multiplier"),
        ({"execution": {"pass_threshold": float("nan")}}, "execution.pass_threshold"),
        ({"execution": {"attempts": 3}}, "execution.attempts"),
        ({"agents": []}, "agents"),
        ({"agents": [{"harness": "oracle"}] * 9}, "agents"),
        ({"agents": [{"harness": " "}]}, "agents.0.harness"),
        ({"agents": [{"harness": "x" * 1025}]}, "agents.0.harness"),
        *(
            ({"agents": [{"harness": "a", "name": name}]}, "agents.0.name")
            for name in ("", " ", " a", "a ", "x" * 65, "a\nb", "a\tb", "a\x1b[31m", "a\u202eb", "a\0", 5)
        ),
        ({"agents": [{"harness": "a", "env": {"lower": "x"}}]}, "agents.0.env"),
        ({"agents": [{"harness": "a", "env": {"1A": "x"}}]}, "agents.0.env"),
        ({"agents": [{"harness": "a", "harness_api_key_secret": "sk-123"}]}, "agents.0.harness_api_key_secret"),
        ({"agents": [{"harness": "a", "model": {"type": "magic"}}]}, "agents.0.model"),
        ({"agents": [{"harness": "a", "model": {**ENDPOINT, "api_key_secret": "sk-123"}}]}, "api_key_secret"),
        ({"env": {"A=B": "x"}}, "env"),
        ({"tasks": {"task_names": []}}, "tasks.task_names"),
        ({"tasks": {"categories": []}}, "tasks.categories"),
        ({"tasks": {"task_set": "a.b"}}, "tasks.task_set"),
        ({"verifier": {"required": ["A"] * 17}}, "verifier.required"),
        ({"experiment": {}}, "experiment.benchmark"),
        ({"extra": 1}, "extra"),
    ],
)
def test_bad_input_is_refused_at_its_field(change: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RunConfig.model_validate({**LEAST, **change})
    assert place in "\n".join(".".join(map(str, error["loc"])) for error in caught.value.errors())


@pytest.mark.parametrize("name", [None, "x", "x" * 64, "gpt, careful (v2)", "小心"])
def test_an_agent_may_have_a_name(name: str | None) -> None:
    config = RunConfig.model_validate({**LEAST, "agents": [{"harness": "oracle", "name": name}]})
    assert config.agents[0].name == name
    assert config.without_values().agents[0].name == name


def test_eight_agents_are_allowed() -> None:
    assert len(RunConfig.model_validate({**LEAST, "agents": [{"harness": "oracle"}] * 8}).agents) == 8


NAMES = st.sampled_from(["A", "_", "PROCTOR_COMMAND", "X9"])
VALUES = st.text().map(lambda text: f"secret-{text}")
LITERALS = st.dictionaries(NAMES, VALUES, max_size=3)


@settings(max_examples=40, deadline=None)
@given(run=LITERALS, agents=st.lists(st.tuples(LITERALS, LITERALS), min_size=1, max_size=3))
def test_no_value_is_left_in_what_enters_an_event(
    run: dict[str, str], agents: list[tuple[dict[str, str], ...]]
) -> None:
    described = [
        {"harness": "command", "env": env, "model": {**ENDPOINT, "extra_headers": headers}} for env, headers in agents
    ]
    config = RunConfig.model_validate({**LEAST, "env": run, "agents": described})
    public = config.without_values()
    text = public.model_dump_json()
    assert "secret-" not in text
    assert set(public.env) == set(run), "the names stay"
    for agent, (env, headers) in zip(public.agents, agents, strict=True):
        assert set(agent.env) == set(env)
        assert agent.model is not None
        assert set(agent.model.model_dump()["extra_headers"]) == set(headers)
    assert public.without_values() == public
    assert config.values(0) == {**run, **agents[0][0]}, "an agent's own values go over the run's"


@pytest.mark.parametrize("url", ["https://me:sk-1@models.example/v1", "https://sk-1@models.example"])
def test_an_address_holds_no_credentials(url: str) -> None:
    with pytest.raises(ValidationError, match="api_key_secret") as caught:
        RunConfig.model_validate({**LEAST, "agents": [{"harness": "a", "model": {**ENDPOINT, "base_url": url}}]})
    assert "base_url" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (None, None),
        ({"type": "provider", "model": "openai/gpt-5", "api_key_secret": "KEY"}, "openai/gpt-5"),
        (ENDPOINT, "m"),
        ({"type": "hosted", "base_model": "base", "lora_model_name": "tuned"}, "base:tuned"),
    ],
)
def test_how_a_model_is_written(model: dict[str, str] | None, label: str | None) -> None:
    config = RunConfig.model_validate({**LEAST, "agents": [{"harness": "a", "model": model}]})
    parsed: Model | None = config.agents[0].model
    assert model_label(parsed) == label
