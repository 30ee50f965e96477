import multiprocessing
import os
from pathlib import Path

import pytest

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Running, held, open_home, read_running, write_private, write_running


def test_a_new_home_is_private(tmp_path: Path) -> None:
    home = open_home(tmp_path / "deep" / "home")
    assert home.root.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("place", ["file/home", "/proc/proctor"])
def test_a_home_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match=r"can't write to .*(home|/proc/proctor).*--home"):
        open_home(tmp_path / place)


def test_a_home_that_is_a_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match=r"file is a file.*--home"):
        open_home(tmp_path / "file")


def test_too_little_space_says_how_much_there_is_and_is_needed(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"has \d+ MiB free, Proctor needs 1099511627776 MiB"):
        open_home(tmp_path / "home", needed_bytes=2**60)


def _try_to_hold(path: Path, answers: "multiprocessing.Queue[str]") -> None:
    try:
        with held(open_home(path)):
            answers.put("held")
    except Failure as failure:
        answers.put(failure.message)


def _attempt(path: Path) -> str:
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[str] = context.Queue()
    process = context.Process(target=_try_to_hold, args=(path, answers))
    process.start()
    answer = answers.get(timeout=20)
    process.join(10)
    return answer


def test_a_second_process_is_told_who_holds_the_home(tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    with held(home):
        write_running(home, Running(os.getpid(), "http://127.0.0.1:8700", "nats://", "postgresql://"))
        answer = _attempt(home.root)
    assert str(home.root) in answer
    assert f"process {os.getpid()} at http://127.0.0.1:8700" in answer
    assert _attempt(home.root) == "held"


def test_how_to_reach_the_platform_is_known_only_while_it_runs(tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    running = Running(os.getpid(), "http://127.0.0.1:1", "nats://u:p@127.0.0.1:2", "postgresql://x")
    with held(home):
        write_running(home, running)
        assert read_running(home) == running
        assert home.running.stat().st_mode & 0o777 == 0o600
    assert read_running(home) is None


def test_what_a_killed_platform_left_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    write_running(home, Running(2**22 + 1, "http://127.0.0.1:1", "", ""))
    assert read_running(home) is None


def test_a_private_file_replaces_one_that_was_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
