from pathlib import Path
from typing import Any

import pytest

from proctor.cli.demo.expectation import surprises
from proctor.cli.demo.place import new_place
from proctor.cli.platform.home import held, open_home


def sound() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    passed = {"oracle": 30, "nop": 0, "command": 7}
    agents = [{"harness": name, "entrant": name, "passed": count, "expected": 30} for name, count in passed.items()]
    result = {"task_name": "t", "number": 1, "agent": 0, "outcome": "passed", "kind": None, "message": None}
    board = {"rows": [{"entrant": name} for name in passed]}
    return {"status": "finished", "agent_results": agents}, [result], board


def test_a_sound_demonstration_surprises_nobody() -> None:
    assert list(surprises(*sound())) == []


@pytest.mark.parametrize(
    ("agent", "passed", "told"),
    [(0, 29, "oracle passed 29 of 30"), (1, 1, "nop passed 1 of 30"), (2, 0, "command passed 0"), (2, 30, "command")],
)
def test_a_wrong_count_is_told(agent: int, passed: int, told: str) -> None:
    run, results, board = sound()
    run["agent_results"][agent]["passed"] = passed
    (surprise,) = surprises(run, results, board)
    assert told in surprise


def test_an_unfinished_run_a_missing_entrant_and_an_error_are_told() -> None:
    run, results, board = sound()
    run |= {"status": "failed", "failure_message": "no capacity"}
    results[0] |= {"outcome": "errored", "kind": "start_failed", "message": "no engine"}
    board["rows"].pop()
    said = "\n".join(surprises(run, results, board))
    assert "failed, not finished: no capacity" in said
    assert "t attempt 1 by agent 0 is errored: start_failed: no engine" in said
    assert "command is not on the leaderboard" in said


def test_a_new_place_removes_the_last_one_unless_it_is_in_use(tmp_path: Path) -> None:
    old, busy = new_place(tmp_path), tmp_path / "demo-busy"
    open_home(old)
    (tmp_path / "production").mkdir()
    with held(open_home(busy)):
        fresh = new_place(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"production", "demo-busy", fresh.name}
