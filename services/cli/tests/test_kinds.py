from typing import Any

import pytest

from proctor.cli.display.kinds import kind_lines, kinds_of


def result(agent: int, outcome: str, kind: str | None = None, message: str | None = None) -> dict[str, Any]:
    return {"agent": agent, "outcome": outcome, "kind": kind, "message": message}


RESULTS = [
    result(0, "passed"),
    result(1, "errored", "build_failed", "no such\nimage"),
    result(0, "failed", "agent_timeout", "after 60 s"),
    result(1, "errored", "build_failed", "another"),
    result(1, "failed"),
]


@pytest.mark.parametrize(
    ("agents", "lines"),
    [
        (
            [{"agent": 0, "entrant": "oracle"}, {"agent": 1, "entrant": "nop"}],
            [
                "2 attempts of nop errored: build_failed (no such image)",
                "1 attempt of oracle failed: agent_timeout (after 60 s)",
            ],
        ),
        ([], ["2 attempts errored: build_failed (no such image)", "1 attempt failed: agent_timeout (after 60 s)"]),
    ],
)
def test_reasons_are_counted_the_most_frequent_first(agents: list[dict[str, Any]], lines: list[str]) -> None:
    assert list(kind_lines({"agent_results": agents}, kinds_of(RESULTS))) == lines


def test_a_long_message_is_shortened_with_a_sign() -> None:
    (line,) = kind_lines({}, kinds_of([result(0, "errored", "start_failed", "x" * 5000)]))
    assert line.endswith("x…)")
    assert len(line) < 300
