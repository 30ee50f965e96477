"""What `--fail-under` asks of a run."""

from typing import Any

import pytest
import typer

from proctor.cli.agents import find_agent
from proctor.cli.failure import Misused
from proctor.cli.thresholds import Threshold, check_names, read_threshold, shortfalls


def agent(number: int, harness: str, name: str | None, value: float | None) -> dict[str, Any]:
    entrant = f"{harness} ({name})" if name else harness
    metrics = {"pass_at_1": None if value is None else {"value": value}}
    return {"agent": number, "harness": harness, "name": name, "entrant": entrant, "metrics": metrics}


RUN = {
    "name": "brave-otter",
    "agent_results": [
        agent(0, "oracle", None, 0.75),
        agent(1, "command", "half = half", 0.1 + 0.2),
        agent(2, "command", "unknown", None),
    ],
}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0.8", (None, 0.8)),
        ("80%", (None, 0.8)),
        ("1", (None, 1.0)),
        ("my agent=0", ("my agent", 0.0)),
        ("a=b=50%", ("a=b", 0.5)),
    ],
)
def test_a_threshold_is_a_rate_and_perhaps_an_agent(text: str, read: tuple[str | None, float]) -> None:
    assert read_threshold(text) == read


@pytest.mark.parametrize("text", ["", "x", "80", "1.1", "-0.1", "nan", "a=", "101%"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"must be like 0\.8, 80% or AGENT=0\.8"):
        read_threshold(text)


@pytest.mark.parametrize(
    ("threshold", "lines"),
    [
        ((None, 0.75), []),
        ((None, 0.76), ["pass@1 of the best agent, oracle, is 75.0%, under 76.0%"]),
        (("oracle", 0.5), []),
        (("half = half", 0.3), []),
        (("1", 0.31), ["pass@1 of command (half = half) is 30.0%, under 31.0%"]),
        (("unknown", 0.0), ["pass@1 of command (unknown) isn't known, so it isn't 0.0%"]),
    ],
)
def test_a_run_falls_short_by_its_numbers(threshold: tuple[str | None, float], lines: list[str]) -> None:
    assert list(shortfalls(RUN, [Threshold(*threshold)])) == lines


def test_a_run_without_numbers_reaches_nothing() -> None:
    assert list(shortfalls({"name": "r", "agent_results": []}, [Threshold(None, 0.0)])) == [
        "pass@1 of any agent isn't known, so it isn't 0.0%"
    ]


@pytest.mark.parametrize(
    ("text", "number"), [("oracle", 0), ("0", 0), ("unknown", 2), ("command (unknown)", 2), ("1", 1)]
)
def test_an_agent_is_found_by_name_harness_or_number(text: str, number: int) -> None:
    assert find_agent(RUN, text)["agent"] == number


@pytest.mark.parametrize(
    ("text", "said"),
    [("command", "several agents are meant by command; write a number: 0 oracle, 1"), ("orcle", "did you mean oracle")],
)
def test_an_agent_that_is_not_meant_clearly(text: str, said: str) -> None:
    with pytest.raises(Misused, match=said):
        check_names(RUN, [Threshold(text, 0.5)])


def test_names_are_not_judged_before_the_agents_are_known() -> None:
    check_names({"name": "r", "agent_results": []}, [Threshold("x", 0.5)])
