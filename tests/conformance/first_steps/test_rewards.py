"""Every verifier, for real: a solution gets the full reward, doing nothing none, a near miss what it earned."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

type Attempt = Callable[[Path, Callable[[Path], Path | None]], list[dict[str, float]]]

NEAR_MISSES = sorted(Path(__file__).with_name("near_misses").glob("*/*.sh"))
HEADER = re.compile(r"^# reward (?P<reward>[\d.]+): (?P<reason>.+)$", re.MULTILINE)


def test_the_solution_gets_the_full_reward(task_dir: Path, attempt: Attempt) -> None:
    assert {rewards["reward"] for rewards in attempt(task_dir, lambda folder: folder / "solution")} == {1.0}


def test_doing_nothing_gets_no_reward(task_dir: Path, attempt: Attempt) -> None:
    assert [rewards["reward"] for rewards in attempt(task_dir, lambda folder: None)] == [0.0]


@pytest.mark.parametrize("script", NEAR_MISSES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_near_miss_gets_what_it_earned_and_is_told_why(
    script: Path, catalogue: Path, tmp_path: Path, attempt: Attempt, capsys: pytest.CaptureFixture[str]
) -> None:
    header = HEADER.search(script.read_text())
    assert header, f"{script} doesn't say its reward and the verifier's reason"
    task_dir = catalogue / script.parent.name
    solution = shutil.copytree(task_dir / "solution", tmp_path / "solution")
    (solution / "solve.sh").rename(solution / "real.sh")
    shutil.copy(script, solution / "solve.sh")
    (rewards,) = attempt(task_dir, lambda folder: solution)
    assert rewards["reward"] == float(header["reward"])
    assert header["reason"] in capsys.readouterr().out


def test_every_task_has_a_near_miss(catalogue: Path) -> None:
    single_step = {path.parent.name for path in catalogue.glob("*/instruction.md")}
    assert {path.parent.name for path in NEAR_MISSES} == single_step


def test_several_rewards_are_told_apart(catalogue: Path, attempt: Attempt) -> None:
    assert attempt(catalogue / "redact-log", lambda folder: folder / "solution") == [
        {"reward": 1.0, "email": 1.0, "ip": 1.0, "untouched": 1.0}
    ]


def test_a_step_below_its_minimum_ends_the_task(catalogue: Path, attempt: Attempt) -> None:
    first_only = attempt(catalogue / "ledger", lambda folder: folder / "solution" if folder.name == "balance" else None)
    assert [rewards["reward"] for rewards in first_only] == [1.0, 0.0]
