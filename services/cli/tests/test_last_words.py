import json
from pathlib import Path

from proctor.cli.platform.last_words import last_words, said


def test_of_a_traceback_only_the_error_is_said_and_only_once() -> None:
    entry = {"event": "runner stopped", "exception": "Traceback:\n  File x\nOSError: no engine\n"}
    assert said([json.dumps(entry)] * 2) == ("runner stopped: OSError: no engine",)


def test_plain_and_structured_lines_keep_their_order() -> None:
    assert said(["a", "", json.dumps({"event": "b"}), "c", "[1]", "a", "d"]) == ("c", "[1]", "a", "d")


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert last_words(tmp_path / "none.log") == ()


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    log.write_text("x" * 200_000 + "\nthe end\n")
    assert last_words(log)[-1] == "the end"
