"""What a submit may say, by table: each row is one mistake, and the key and likely correction that it is told with."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contracts.config import RunConfig
from proctor.contracts.manifest import Manifest
from proctor.gateway.submission import Target, accept, invalid, parse
from proctor.service.errors import Invalid, Issue

TARGET = Target(benchmark="b", key="acme/tiny", name="Tiny", status="ready", default_harness=None)
BODY: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle", "env": {}}]}


def changed(**sections: Any) -> dict[str, Any]:
    return {**copy.deepcopy(BODY), **sections}


def agents(*items: dict[str, Any]) -> dict[str, Any]:
    return changed(agents=[{"harness": "oracle", **item} for item in items])


MISTAKES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"agents": BODY["agents"]}, "experiment", None),
    (changed(experiment_config={"benchmark": ""}), "experiment.benchmark", None),
    (changed(experiment_config={"benchmark": "  "}), "experiment.benchmark", None),
    (changed(experiment_config={"benchmark": "x", "benchmrk": "y"}), "experiment.benchmrk", "benchmark"),
    (changed(task_config={}), "task_config", "tasks_config"),
    (changed(agents=[]), "agents", None),
    (changed(agents=None), "agents", None),
    (changed(agents={}), "agents", None),
    (changed(agents=[{"harness": "nop"}] * 9), "agents", None),
    (agents({"harness": "orcale"}), "agents[0].harness", "oracle"),
    (agents({}, {"harness": "Oracle"}), "agents[1].harness", "oracle"),
    (agents({"harness": None}), "agents[0].harness", None),
    (agents({"harness": ""}), "agents[0].harness", None),
    (agents({"hraness": "x"}), "agents[0].hraness", "harness"),
    (agents({"name": "a\nb"}), "agents[0].name", None),
    (agents({"name": "a"}, {"harness": "nop", "name": "a"}), "agents[1].name", None),
    (agents({"model": {"type": "provder"}}), "agents[0].model", None),
    (agents({"model": {"type": "provider", "model": "m"}}), "agents[0].model.api_key_secret", None),
    (
        agents({"model": {"type": "provider", "model": "m", "api_key_secret": "k-y"}}),
        "agents[0].model.api_key_secret",
        None,
    ),
    (
        agents({"model": {"type": "hosted", "base_model": "m", "lora_model_name": "n", "lora_model": "n"}}),
        "agents[0].model.lora_model",
        "lora_model_name",
    ),
    (agents({"harness": "command"}), "agents[0].env.PROCTOR_COMMAND", None),
    (agents({"harness": "command", "env": {"PROCTOR_COMMAND": "  "}}), "agents[0].env.PROCTOR_COMMAND", None),
    (agents({"env": {"lower": "x"}}), "agents[0].env.lower", None),
    (agents({"env": {"A": 1}}), "agents[0].env.A", None),
    (agents({"env": {"_OSMOSIS_X": "1"}}), "agents[0].env._OSMOSIS_X", None),
    (changed(env_config={"A": "\0"}), "env.A", None),
    (changed(env_config={"A": "x" * 65_537}), "env.A", None),
    (changed(env_config={"1A": "x"}), "env.1A", None),
    (agents({"harness_api_key_secret": "CURSOR_API_KEY"}), "agents[0].harness_api_key_secret", None),
    (changed(execution_config={"attempts_per_task": 0}), "execution.attempts_per_task", None),
    (changed(execution_config={"attempts_per_task": 65}), "execution.attempts_per_task", None),
    (changed(execution_config={"attempts_per_task": "2"}), "execution.attempts_per_task", None),
    (changed(execution_config={"attempts_per_task": True}), "execution.attempts_per_task", None),
    (changed(execution_config={"attempts_per_task": 1.5}), "execution.attempts_per_task", None),
    (changed(execution_config={"attempts_pre_task": 2}), "execution.attempts_pre_task", "attempts_per_task"),
    (changed(execution_config={"max_concurrent_attempts": 257}), "execution.max_concurrent_attempts", None),
    (changed(execution_config={"timeout_multiplier": 0.05}), "execution.timeout_multiplier", None),
    (changed(execution_config={"timeout_multiplier": float("inf")}), "execution.timeout_multiplier", None),
    (changed(execution_config={"max_retries": 11}), "execution.max_retries", None),
    (changed(execution_config={"pass_threshold": 0}), "execution.pass_threshold", None),
    (changed(execution_config={"pass_threshold": 1.01}), "execution.pass_threshold", None),
    (changed(execution_config={"judge_api_key_secret": "JUDGE_KEY"}), "execution.judge_api_key_secret", None),
    (changed(execution_config={"verifier_secrets": ["GRADER_KEY"]}), "verifier.required", None),
    (changed(execution_config={"verifier_secrets": "GRADER_KEY"}), "verifier.required", None),
    (changed(execution_config=[]), "execution", None),
    (changed(tasks_config={"task_names": []}), "tasks.task_names", None),
    (changed(tasks_config={"task_names": "acme/copy-file"}), "tasks.task_names", None),
    (changed(tasks_config={"task_names": ["acme/sort-number"]}), "tasks.task_names", "acme/sort-numbers"),
    (changed(tasks_config={"task_names": ["acme/broken"]}), "tasks.task_names", None),
    (changed(tasks_config={"task_names": ["acme/copy-file", "acme/copy-file"]}), "tasks.task_names", None),
    (changed(tasks_config={"categories": ["fils"]}), "tasks.categories", "files"),
    (changed(tasks_config={"categories": []}), "tasks.categories", None),
    (changed(tasks_config={"task_set": "partiy"}), "tasks.task_set", "parity"),
    (changed(tasks_config={"task_name": ["x"]}), "tasks.task_name", "task_names"),
    (changed(secrets={"required": ["KEY"], "provided": {}}), "secrets.required", None),
    (changed(secrets={"required": ["key"], "provided": {"key": "v"}}), "secrets.required", None),
    (changed(secrets={"required": ["KEY", "KEY"], "provided": {"KEY": "v"}}), "secrets.required", None),
    (changed(secrets={"required": [], "provided": {"KEY": "v"}}), "secrets.provided.KEY", None),
    (changed(secrets={"required": ["KEY"], "provided": {"KEY": ""}}), "secrets.provided.KEY", None),
    (changed(secrets={"required": ["KEY"], "provided": {"KEY": 5}}), "secrets.provided.KEY", None),
    (changed(secrets=[]), "secrets", None),
    (changed(secrets={"required": ["KEY"], "provided": {"KEY": "v"}}, env_config={"KEY": "w"}), "env.KEY", None),
]


def problems(body: dict[str, Any], manifest: Manifest) -> dict[str, str | None]:
    try:
        accept(parse(body), TARGET, manifest)
    except Invalid as error:
        return {issue.key: issue.correction for issue in error.issues}
    return {}


@pytest.mark.parametrize(("body", "key", "correction"), MISTAKES)
def test_a_mistake_is_told_at_its_key(
    body: dict[str, Any], key: str, correction: str | None, manifest: Manifest
) -> None:
    assert problems(body, manifest) == {key: correction}


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ({}, 3),
        ({"categories": ["files"]}, 2),
        ({"task_names": ["acme/sort-numbers"], "categories": ["files"]}, 3),
        ({"task_names": ["acme/copy-file"], "categories": ["files"]}, 2),
        ({"task_set": "parity"}, 1),
        ({"task_set": "parity", "task_names": ["nowhere"], "categories": ["none"]}, 1),
    ],
)
def test_what_a_selection_takes(tasks: dict[str, Any], expected: int, manifest: Manifest) -> None:
    body = changed(tasks_config=tasks) if tasks else BODY
    assert accept(parse(body), TARGET, manifest).tasks == expected


EVERYTHING_WRONG: dict[str, Any] = {
    "secrets": {"required": ["X"]},
    "env_config": {"lower": "x", "_OSMOSIS_Y": "1"},
    "execution_config": {"max_retries": 99, "attempts_per_task": 0, "verifier_secrets": ["GRADER", "g"]},
    "agents": [
        {"env": {"PROCTOR_COMMAND": 5, "_OSMOSIS_X": "1"}, "harness": "command"},
        {"harness": "orcale", "hraness": "x", "name": ""},
        "nop",
        {"harness": "nop", "model": {"type": "provider", "model": 5}},
        {"harness": " "},
    ],
    "tasks_config": {"task_names": [5, "acme/sort-number"], "categories": ["fils"]},
    "experiment_config": {"benchmark": "acme/tiny", "benchmrk": "x"},
    "experimnt": {},
}
ALL_THAT_IS_WRONG = [
    ("experimnt", "experiment_config"),
    ("experiment.benchmrk", "benchmark"),
    ("tasks.task_names[0]", None),
    ("tasks.task_names", "acme/sort-numbers"),
    ("tasks.categories", "files"),
    ("agents[0].env.PROCTOR_COMMAND", None),
    ("agents[0].env._OSMOSIS_X", None),
    ("agents[1].hraness", "harness"),
    ("agents[1].name", None),
    ("agents[1].harness", "oracle"),
    ("agents[2]", None),
    ("agents[3].model.model", None),
    ("agents[3].model.api_key_secret", None),
    ("agents[4].harness", None),
    ("execution.attempts_per_task", None),
    ("execution.max_retries", None),
    ("verifier.required[1]", None),
    ("verifier.required", None),
    ("env.lower", None),
    ("env._OSMOSIS_Y", None),
    ("secrets.required", None),
]


def told(body: dict[str, Any], target: Target | None, manifest: Manifest | None, *known: str) -> list[Issue]:
    with pytest.raises(Invalid) as refused:
        accept(parse(body), target, manifest, known)
    return list(refused.value.issues)


def test_every_problem_is_told_at_once_and_once_in_the_order_of_the_toml(manifest: Manifest) -> None:
    issues = told(EVERYTHING_WRONG, TARGET, manifest)
    assert [(issue.key, issue.correction) for issue in issues] == ALL_THAT_IS_WRONG


def test_an_unknown_benchmark_hides_nothing_that_can_be_known_without_it() -> None:
    body = {**EVERYTHING_WRONG, "experiment_config": {"benchmark": "acme/tinny"}}
    issues = told(body, None, None, "acme/tiny", "Tiny")
    needs_it = {"tasks.task_names", "tasks.categories", "experiment.benchmrk"}
    expected = [wrong for wrong in ALL_THAT_IS_WRONG if wrong[0] not in needs_it]
    expected.insert(1, ("experiment.benchmark", "acme/tiny"))
    assert [(issue.key, issue.correction) for issue in issues] == expected


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (changed(agents=[{"harness": "orcale"}] * 9), ["agents", *(f"agents[{index}].harness" for index in range(8))]),
        (changed(agents=[{"harness": "command"}], env_config={"PROCTOR_COMMAND": 5}), ["env.PROCTOR_COMMAND"]),
        (changed(agents=[{"harness": "command"}], secrets=[]), ["secrets"]),
        (changed(execution_config={"verifier_secrets": ["K"]}, secrets={"required": ["K"]}), ["secrets.required"]),
        (changed(execution_config={"verifier_secrets": ["K"]}, secrets=[]), ["secrets"]),
        (changed(agents=[{"harness": {}}]), ["agents[0].harness"]),
        (changed(experiment_config=5, agents=[{"harness": "orcale"}]), ["experiment", "agents[0].harness"]),
        ({}, ["experiment", "agents"]),
    ],
)
def test_what_follows_from_a_mistake_is_no_second_one(
    change: dict[str, Any], keys: list[str], manifest: Manifest
) -> None:
    target = None if "experiment" in keys else TARGET
    assert [issue.key for issue in told(change, target, manifest if target else None)] == keys


@given(st.fixed_dictionaries({}, optional={"tasks": st.booleans(), "env": st.booleans(), "execution": st.booleans()}))
def test_a_sound_body_is_read_as_the_configuration_would_be(sections: dict[str, bool]) -> None:
    toml: dict[str, Any] = {
        "experiment": {"benchmark": "x"},
        "agents": [{"name": "a", "harness": "command", "env": {"PROCTOR_COMMAND": "true"}}, {}],
        "tasks": {"categories": ["files"]},
        "env": {"A": "b"},
        "execution": {"attempts_per_task": 3, "timeout_multiplier": 2},
    }
    kept = {name: section for name, section in toml.items() if sections.get(name, True)}
    wire = {name if name == "agents" else f"{name}_config": section for name, section in kept.items()}
    read = parse(wire)
    assert read.issues == ()
    assert read.config == RunConfig.model_validate(kept)


def test_too_many_results(manifest: Manifest) -> None:
    many = manifest.model_copy(update={"tasks": manifest.tasks * 600})
    assert list(problems(changed(execution_config={"attempts_per_task": 56}), many)) == ["execution.attempts_per_task"]
    assert problems(changed(execution_config={"attempts_per_task": 55}), many) == {}


def test_a_native_harness_has_no_model(manifest: Manifest) -> None:
    model = {"type": "provider", "model": "openai/gpt", "api_key_secret": "NOT_STORED"}
    accepted = accept(parse(agents({"model": model})), TARGET, manifest)
    assert accepted.config.agents[0].model is None
    assert any("agents[0].model" in warning for warning in accepted.warnings)


def test_the_benchmarks_harness_is_filled_in(manifest: Manifest) -> None:
    target = Target(benchmark="b", key="k", name="n", status="ready", default_harness="nop")
    assert accept(parse(changed(agents=[{}])), target, manifest).config.agents[0].harness == "nop"


def test_a_command_may_come_from_the_runs_env(manifest: Manifest) -> None:
    body = {**agents({"harness": "command"}), "env_config": {"PROCTOR_COMMAND": "true"}}
    assert problems(body, manifest) == {}


@pytest.mark.parametrize(
    ("status", "why"), [("pending", "first sync"), ("syncing", "12 of 89"), ("failed", "no dataset.toml")]
)
def test_only_a_ready_benchmark_runs(status: str, why: str) -> None:
    target = Target("b", "k", "Tiny", status, None, sync_done=12, sync_total=89, error="no dataset.toml")
    (issue,) = told(BODY, target, None)
    assert (issue.key, why in issue.message) == ("experiment.benchmark", True)


SECRET_MODEL = {"type": "provider", "model": "m", "api_key_secret": "K"}


@pytest.mark.parametrize(
    ("listed", "warned"),
    [
        ([{"harness": "oracle"}, {"harness": "nop"}], []),
        ([{"harness": "oracle"}, {"harness": "oracle", "name": "again"}], []),
        ([{"harness": "oracle"}, {"harness": "oracle"}], [("agents[0]", "agents[1]")]),
        ([{"harness": "oracle", "model": SECRET_MODEL}, {}], [("agents[0]", "agents[1]")]),
        ([{"harness": "nop"}, {}, {"harness": "nop"}, {}], [("agents[0]", "agents[2]"), ("agents[1]", "agents[3]")]),
    ],
)
def test_agents_that_are_one_entrant_are_accepted_with_a_warning(
    listed: list[dict[str, Any]], warned: list[tuple[str, str]], manifest: Manifest
) -> None:
    target = Target(benchmark="b", key="k", name="n", status="ready", default_harness="oracle")
    warnings = accept(parse(changed(agents=listed, tasks_config={"task_set": "parity"})), target, manifest).warnings
    same = [warning for warning in warnings if "later one counts" in warning]
    assert len(same) == len(warned)
    for warning, (one, other) in zip(same, warned, strict=True):
        assert warning.startswith(f"{one}:")
        assert other in warning


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SECTIONS = ("experiment_config", "agents", "tasks_config", "execution_config", "env_config", "secrets")


@given(body=st.dictionaries(st.sampled_from(SECTIONS), JSON))
def test_any_json_is_read_or_has_its_issues(body: dict[str, Any], manifest: Manifest) -> None:
    read = parse(body)
    assert read.issues or read.config == RunConfig.model_validate(read.config.model_dump())
    try:
        accept(read, TARGET, manifest)
    except Invalid as error:
        assert {*read.issues} <= {*error.issues}
        assert len({*error.issues}) == len(error.issues) > 0
        assert all(issue.key and issue.message for issue in error.issues)


@given(st.uuids().map(str))
def test_no_message_repeats_a_value(value: str) -> None:
    body = changed(
        env_config={"lower": value, "A": [value]}, secrets={"required": ["bad"], "provided": {"K": value, "bad": value}}
    )
    issues = told(body, None, None)
    assert value not in str(invalid(issues)) + "".join(f"{issue.message}{issue.correction}" for issue in issues)
