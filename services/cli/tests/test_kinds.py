from typing import Any

import pytest

from proctor.cli.display.kinds import kind_lines


def kind(agent: int, count: int, outcome: str | None, name: str, message: str | None) -> dict[str, Any]:
    return {"agent": agent, "count": count, "outcome": outcome, "kind": name, "message": message}


KINDS = [
    kind(1, 2, "errored", "build_failed", "no such\nimage"),
    kind(0, 1, "failed", "agent_timeout", None),
    kind(1, 1, None, "start_failed", "no engine"),
]


@pytest.mark.parametrize(
    ("agents", "lines"),
    [
        (
            [{"agent": 0, "entrant": "oracle"}, {"agent": 1, "entrant": "nop (idle)"}],
            [
                "2 attempts of nop (idle) errored: build_failed (no such image)",
                "1 attempt of oracle failed: agent_timeout",
                "1 attempt of nop (idle) so far: start_failed (no engine)",
            ],
        ),
        (
            [{"agent": 0, "entrant": "oracle"}],
            [
                "2 attempts errored: build_failed (no such image)",
                "1 attempt failed: agent_timeout",
                "1 attempt so far: start_failed (no engine)",
            ],
        ),
    ],
)
def test_each_reason_is_a_line_that_names_the_agent_where_there_are_several(
    agents: list[dict[str, Any]], lines: list[str]
) -> None:
    assert list(kind_lines({"agent_results": agents, "kinds": KINDS})) == lines


def test_a_long_message_is_shortened_with_a_sign() -> None:
    (line,) = kind_lines({"kinds": [kind(0, 1, "errored", "start_failed", "x" * 5000)]})
    assert line.endswith("x…)")
    assert len(line) < 300


@pytest.mark.parametrize("run", [{}, {"kinds": None}, {"kinds": []}])
def test_a_run_without_reasons_says_nothing(run: dict[str, Any]) -> None:
    assert list(kind_lines(run)) == []
