import re
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.failure import Failure
from proctor.cli.submission import idle_budget, read_submission
from proctor.contracts.config import (
    Agent,
    EndpointModel,
    Execution,
    Experiment,
    HostedModel,
    ProviderModel,
    Tasks,
    Verifier,
)

FULL = """
[experiment]
benchmark = "acme/tiny"
[tasks]
categories = ["files"]
[[agents]]
harness = "oracle"
[[agents]]
harness = "command"
[agents.env]
PROCTOR_COMMAND = "make"
[execution]
attempts_per_task = 3
[verifier]
required = ["JUDGE_KEY"]
[secrets]
required = ["TOKEN"]
[env]
LANG = "C"
[budget]
usd = 2.5
attempts = 10
"""


def read(text: str, **environment: str) -> dict[str, Any]:
    return read_submission(text, "run.toml", environment)


def test_sections_become_the_wire_body() -> None:
    assert read(FULL, TOKEN="s3cret", OTHER="x") == {
        "experiment_config": {"benchmark": "acme/tiny"},
        "tasks_config": {"categories": ["files"]},
        "agents": [{"harness": "oracle", "env": {}}, {"harness": "command", "env": {"PROCTOR_COMMAND": "make"}}],
        "execution_config": {"attempts_per_task": 3, "verifier_secrets": ["JUDGE_KEY"]},
        "env_config": {"LANG": "C"},
        "budget_config": {"usd": 2.5, "attempts": 10},
        "secrets": {"required": ["TOKEN"], "provided": {"TOKEN": "s3cret"}},
    }


def test_what_the_environment_lacks_has_to_be_stored() -> None:
    assert read(FULL, OTHER="x")["secrets"] == {"required": ["TOKEN"], "provided": {}}


def test_what_is_left_out_is_left_out_of_the_body() -> None:
    body = read('[experiment]\nbenchmark = "b"\n[[agents]]\nharness = "nop"\n')
    assert body == {"experiment_config": {"benchmark": "b"}, "agents": [{"harness": "nop", "env": {}}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[experiment]\nbenchmark = "b"\n[[agents]]\nharness = oracle\n',
            r"run\.toml: line 4: invalid value, at column 11; a text needs",
        ),
        ('[experimnt]\nbenchmark = "b"\n', r"experimnt.*did you mean \[experiment\]\?"),
        ("[zzz]\n", "zzz: there is no such section: known are experiment, tasks, agents"),
        ('[[agents]]\nharness = "nop"\n', r"\[experiment\] is missing"),
        ('[experiment]\nbenchmark = "b"\n', r"\[\[agents\]\] is missing"),
        ('[experiment]\nbenchmark = "b"\n[agents]\nharness = "nop"\n', r"\[\[agents\]\] is missing"),
        ('env = "x"\n[experiment]\nbenchmark = "b"\n[[agents]]\n', r"env: must be a section: write \[env\]"),
        (
            '[experiment]\nbenchmark = "b"\n[[agents]]\n[secrets]\nneeded = ["A"]\n',
            r"secrets\.needed: there is no such key",
        ),
        ('[experiment]\nbenchmark = "b"\n[[agents]]\n[verifier]\nrequired = "A"\n', "must be a list of names"),
    ],
)
def test_each_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(Failure, match=message):
        read(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[experiment]\nbenchmark = "b"\n[[agents]]\nharness = oracle\n', "4: harness = oracle"),
        ('[experiment]\nbenchmark = "b"\n[env]\nA = """x\n\n', '4: A = """x'),
        ('[experiment]\nbenchmark = ["b"\n\n', '2: benchmark = ["b"'),
        ("[experiment", "1: [experiment"),
    ],
)
def test_broken_toml_shows_the_line(text: str, line: str) -> None:
    with pytest.raises(Failure, match=f"line {line[0]}: ") as caught:
        read(text)
    assert caught.value.details == (line,)


BUDGET = '[experiment]\nbenchmark = "b"\n[budget]\n{limit}\n[[agents]]\n{agent}\n'


@pytest.mark.parametrize(
    ("limit", "agent", "rates", "warned"),
    [
        ("usd = 0.01", 'harness = "nop"', {"hour": 0, "cpu_hour": 0.0}, True),
        ("usd = 0.01", 'harness = "nop"', {"hour": 0, "cpu_hour": 0.5}, False),
        ("usd = 0.01", 'name = "the benchmark\'s own"', {}, False),
        ("usd = 0.01", 'harness = "codex"', {}, False),
        ("attempts = 3", 'harness = "nop"', {}, False),
    ],
)
def test_a_budget_that_nothing_counts_against_is_told(
    limit: str, agent: str, rates: dict[str, float], warned: bool
) -> None:
    told = list(idle_budget(read(BUDGET.format(limit=limit, agent=agent)), {"rates": rates}))
    text = (
        "the budget of $0.01 can't be reached: no sandbox price is set (PROCTOR_PRICE_...) "
        "and these agents call no model"
    )
    assert told == ([text] if warned else [])


def test_the_reference_in_the_readme_holds_every_key_and_an_example_that_reads() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text()
    reference = text[text.index("## The run's TOML") :]
    example = reference[reference.index("```toml\n") + 8 :]
    body = read(example[: example.index("```")], OPENAI_API_KEY="k")
    Agent.model_validate(body["agents"][1])
    Execution.model_validate(body["execution_config"])
    sections = (Experiment, Tasks, Agent, Execution, Verifier, ProviderModel, EndpointModel, HostedModel)
    keys = {key for section in sections for key in section.model_fields} - {"model", "env"}
    assert {key for key in keys if not re.search(rf"\b{key}`", reference)} == set()
