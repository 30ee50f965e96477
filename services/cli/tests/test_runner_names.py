import subprocess
import sys
from pathlib import Path

import pytest

from proctor.cli.failure import Failure
from proctor.cli.runner_names import take_name
from proctor.service.identity import claim_identity

TAKE = """
import os, sys
from pathlib import Path
from proctor.cli.runner_names import take_name
print(take_name(Path(sys.argv[1]), "here"), flush=True)
os.execvp("cat", ["cat"])
"""


def taker(home: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_each_takes_the_next_name_holds_it_over_an_exec_and_frees_it_by_ending(tmp_path: Path) -> None:
    (first, one), (second, two) = taker(tmp_path), taker(tmp_path)
    assert (one, two) == ("runner-1", "runner-2")
    first.communicate()
    third, three = taker(tmp_path)
    assert three == "runner-1"
    second.communicate()
    third.communicate()


def test_a_name_that_a_runner_goes_by_already_is_passed_over(tmp_path: Path) -> None:
    with claim_identity(tmp_path, "runner", "runner-1", "here").lock:
        process, name = taker(tmp_path)
        process.communicate()
    assert name == "runner-2"


def test_a_home_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match=r"can't write to .*file.*--home"):
        take_name(tmp_path / "file", "here")
