"""`proctor` as a client of a whole platform, each command a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

TASK = """
version = "1.0"
[metadata]
category = "files"
[agent]
timeout_sec = 60
"""
RUN = """
[experiment]
benchmark = "acme/tiny"
[[agents]]
harness = "oracle"
[[agents]]
name = "slow"
harness = "command"
[agents.env]
PROCTOR_COMMAND = "sleep {seconds}"
[budget]
attempts = 50
"""


@dataclass(frozen=True)
class Installation:
    home: Path
    folder: Path

    def env(self, **changes: str) -> dict[str, str]:
        clean = {name: text for name, text in os.environ.items() if not name.startswith("PROCTOR_")}
        config = {"XDG_CONFIG_HOME": str(self.folder / "config"), "PROCTOR_HOME": str(self.home)}
        return {**clean, **config, **changes}

    def start(self, *words: str, **changes: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "proctor.cli.main", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, env=self.env(**changes), cwd=self.folder)

    def __call__(self, *words: str, code: int = 0, **changes: str) -> tuple[str, str]:
        process = self.start(*words, **changes)
        out, err = process.communicate(timeout=100)
        assert process.returncode == code, (words, out, err)
        return out, err

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code)[0])

    def submit(self, seconds: float) -> str:
        """Its name."""
        file = self.folder / "run.toml"
        file.write_text(RUN.format(seconds=seconds))
        return self.json("run", "submit", str(file))["name"]


def make_tasks(folder: Path, *names: str) -> Path:
    for name in names:
        for part in ("environment", "tests", "solution"):
            (folder / name / part).mkdir(parents=True)
        (folder / name / "task.toml").write_text(TASK)
        (folder / name / "instruction.md").write_text("Make the file done.\n")
        (folder / name / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\n")
        (folder / name / "solution" / "solve.sh").write_text("#!/bin/bash\ntouch /app/done\n")
        (folder / name / "tests" / "test.sh").write_text(
            "#!/bin/bash\n[ -e /app/done ] && reward=1 || reward=0\necho $reward > /logs/verifier/reward.txt\n"
        )
    return folder


@pytest.fixture(scope="module")
def proctor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    place = tmp_path_factory.mktemp("client")
    made = Installation(place / "home", place / "folder")
    made.folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    log = place / "up.log"
    argv = [sys.executable, "-m", "proctor.cli.main", "up", "--port", str(port), "--backend", "bubblewrap"]
    with log.open("w") as out:
        process = subprocess.Popen([*argv, "--capacity", "4"], env=made.env(), stdout=out, stderr=out)
    deadline = time.monotonic() + 60
    while True:
        with suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/readyz").is_success:
                break
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    made("benchmark", "add", str(make_tasks(made.folder / "tiny", "one", "two")), "--key", "acme/tiny")
    yield made
    process.send_signal(signal.SIGINT)
    process.wait(30)


@pytest.fixture(scope="module")
def finished(proctor: Installation) -> str:
    """A run that ended: the oracle passes both tasks, the other agent none."""
    name = proctor.submit(0)
    proctor("run", "wait", name)
    return name


@pytest.mark.parametrize(
    ("thresholds", "code", "said"),
    [
        (["1"], 0, []),
        (["oracle=100%", "slow=0"], 0, []),
        (["slow=0.5"], 1, ["pass@1 of command (slow) is 0.0%, under 50.0%"]),
        (["slow=0.5", "slow=1%"], 1, [f"pass@1 of command (slow) is 0.0%, under {rate}%" for rate in ("50.0", "1.0")]),
    ],
)
def test_a_build_passes_by_what_the_run_reached(
    proctor: Installation, finished: str, thresholds: list[str], code: int, said: list[str]
) -> None:
    options = [word for threshold in thresholds for word in ("--fail-under", threshold)]
    out, err = proctor("run", "wait", finished, *options, "--json", code=code)
    assert json.loads(out)["status"] == "finished"
    assert [json.loads(line) for line in err.splitlines()] == [{"notice": line} for line in said]


def test_what_a_run_was_and_used(proctor: Installation, finished: str) -> None:
    out, err = proctor("run", "info", finished)
    facts = dict(line.split(maxsplit=1) for line in out.splitlines() if "  " in line)
    assert facts["benchmark"] == "acme/tiny"
    assert facts["tasks"] == "2 (full), 1 attempt each"
    assert facts["budget"] == "50 attempts for the run; used 4 attempts"
    assert facts["oracle"].split()[:4] == ["finished", "2/2", "2", "100.0%"]
    assert err == ""
    (slow,) = {result["agent"] for result in proctor.json("run", "results", finished, "--agent", "slow")}
    assert slow == 1
    task = proctor.json("run", "results", finished, "--task", "one")
    assert [(result["agent"], result["outcome"]) for result in task] == [(0, "passed"), (1, "failed")]
    lines = [json.loads(line) for line in proctor("run", "logs", finished, "--agent", "0", "--json")[0].splitlines()]
    assert {line["agent"] for line in lines} == {0}
    listed = proctor.json("run", "list", "--status", "finished", "--status", "failed", "--benchmark", "acme/tiny")
    assert finished in [run["name"] for run in listed]
    assert "the newest 1" in proctor("run", "list", "--limit", "1")[1] or len(proctor.json("run", "list")) == 1


def test_a_run_that_is_waited_for_in_vain_goes_on_until_it_is_stopped(proctor: Installation) -> None:
    name = proctor.submit(60)
    _, err = proctor("run", "wait", name, "--timeout", "0.5", "--json", code=124)
    assert json.loads(err.splitlines()[-1])["error"]["message"].startswith("not done after 0.5 s")
    assert proctor("run", "watch", name, "--fail-under", "slwo=1", code=2)[1].endswith("did you mean slow?\n")
    left = proctor.start("run", "watch", name)
    assert left.stdout is not None
    assert left.stdout.readline().startswith(f"{name}: ")
    left.send_signal(signal.SIGINT)
    assert (left.communicate(timeout=30)[1], left.returncode) == ("", 130)
    watching = proctor.start("run", "watch", name, "--json")
    proctor("run", "stop", name, "--reason", "enough")
    out, err = watching.communicate(timeout=60)
    assert (watching.returncode, json.loads(out)["status"]) == (1, "stopped")
    assert all(set(json.loads(line)) == {"notice"} for line in err.splitlines())
    assert "enough" in proctor("run", "info", name)[0]


def test_a_log_is_followed_over_a_restart_of_the_gateway(proctor: Installation) -> None:
    name = proctor.submit(4)
    following = proctor.start("run", "logs", name, "--follow")
    assert following.stdout is not None
    first = following.stdout.readline()
    gateway = int((proctor.home / "run" / "gateway.pid").read_text().split()[0])
    os.kill(gateway, signal.SIGKILL)
    rest, err = following.communicate(timeout=90)
    assert (following.returncode, "the platform is back" in err) == (0, True), err
    assert first + rest == proctor("run", "logs", name)[0]


def test_a_benchmark_from_its_folder_to_its_removal(proctor: Installation) -> None:
    folder = make_tasks(proctor.folder / "more", "good", "bad")
    (folder / "bad" / "task.toml").write_text('version = "1.0"\n[agent]\ntimeout_sec = -1\n')
    nowhere = {"PROCTOR_URL": "http://127.0.0.1:9", "PROCTOR_TOKEN": "t"}
    out, _ = proctor("benchmark", "validate", str(folder), code=1, **nowhere)
    assert "problem: bad/task.toml: agent.timeout_sec: " in out
    assert out.endswith(f"{folder}: 1 task can be used, 1 can't\n")
    checked = proctor.json("benchmark", "validate", str(folder), code=1)
    assert [problem["path"] for problem in checked["problems"]] == ["bad"]

    added = proctor.json("benchmark", "add", str(folder), "--key", "acme/more")
    assert (added["status"], added["version"]) == ("ready", checked["version"])
    (folder / "bad" / "task.toml").write_text(TASK.replace("files", "text"))
    assert proctor("benchmark", "validate", str(folder))[0].endswith(f"{folder}: 2 tasks can be used\n")
    synced, _ = proctor("benchmark", "sync", "acme/more", str(folder))
    assert synced.startswith("acme/more is ready: 2 tasks, version sha256:")
    out, _ = proctor("benchmark", "info", "acme/more")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines() if "  " in line)
    assert (facts["categories"], facts["version"]) == ("files (1), text (1)", synced.split()[-1])
    assert proctor.json("benchmark", "remove", "acme/more", "--yes")["removed"] is True
    assert "there is no benchmark acme/more" in proctor("benchmark", "remove", "acme/more", "--yes", code=3)[1]


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        ("proctor run info ", "the run"),
        ("proctor leaderboard acme", "acme/tiny"),
        ("proctor run results {run} --agent ", "oracle"),
    ],
)
def test_names_that_a_shell_is_offered(proctor: Installation, finished: str, words: str, choices: str) -> None:
    line = words.format(run=finished)
    place = str(len(line.split(" ")) - 1)
    out, err = proctor(_PROCTOR_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place)
    assert (finished if choices == "the run" else choices) in out.split()
    assert err == ""
