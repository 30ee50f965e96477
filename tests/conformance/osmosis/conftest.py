"""The real osmosis command against a whole platform, one for all of these tests."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

import proctor.registry_sync
from proctor.tasks import pack_dataset

BIN = Path(sys.prefix) / "osmosis" / "bin"
CATALOGUE = Path(proctor.registry_sync.__file__).parent / "catalogue" / "first-steps"
REPO = "acme/bench"
KEY = "acme/custom@3"
TASKS = ("csv-totals", "fill-template", "ledger")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed for programs: the last line of stderr when it failed."""
        return json.loads(self.out if self.code == 0 else self.err.splitlines()[-1])

    @property
    def error(self) -> Any:
        assert self.code == 1, self
        return self.json["error"]


@dataclass(frozen=True)
class Site:
    """`client` is the owner's, of `/api/v1`; `home` is the command's, `folder` where it is started."""

    url: str
    token: str
    home: Path
    folder: Path
    clone: Path

    def env(self, **changes: str | None) -> dict[str, str]:
        ours = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "COLUMNS": "200",
            "OSMOSIS_PLATFORM_URL": self.url,
            "OSMOSIS_TOKEN": self.token,
            "OSMOSIS_TOKEN_PLATFORM_URL": self.url,
            "OSMOSIS_TOKEN_STORE": "file",
            "NO_COLOR": "1",
            **changes,
        }
        return {name: value for name, value in ours.items() if value is not None}

    def osmosis(self, *arguments: str, git: bool = False, stdin: str | None = None, **env: str | None) -> Done:
        """By `--workspace default`, or from the clone of the workspace's repository."""
        argv = [str(BIN / "osmosis"), *(() if git else ("--workspace", "default")), *arguments]
        done = subprocess.run(
            argv,
            cwd=self.clone if git else self.folder,
            env=self.env(**env),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, **options: Any) -> Any:
        """Its JSON."""
        done = self.osmosis("--json", *arguments, **options)
        assert done.code == 0, done
        return done.json

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60)

    def write(self, name: str, toml: str) -> str:
        (self.folder / name).write_text(toml)
        return str(self.folder / name)

    def submit(self, name: str, toml: str, *arguments: str, **options: Any) -> Any:
        """The run's resource."""
        return self.ok("benchmark", "submit", "--yes", self.write(name, toml), *arguments, **options)["resource"]

    def until(self, run: str, *statuses: str, seconds: float = 90) -> Any:
        """`runs info` of a run once it has one of the statuses."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.ok("benchmark", "runs", "info", run)["data"]
            if found["benchmark_run"]["status"] in statuses:
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(httpx.TransportError):
            if happened():
                return
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.1)


def clone_of(repo: str, folder: Path) -> Path:
    """A folder as the command wants one, with that origin on GitHub; nothing is fetched."""
    for name in ("rollouts", "configs/training", "configs/eval", "data"):
        (folder / name).mkdir(parents=True)
    for argv in (["init", "-q"], ["remote", "add", "origin", f"git@github.com:{repo}.git"]):
        subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)
    return folder


def _add_benchmark(client: httpx.Client, folder: Path) -> str:
    """A few tasks of the catalogue under a key with a slash and an @."""
    for task in TASKS:
        shutil.copytree(CATALOGUE / task, folder / task)
    upload = client.post("/uploads", content=pack_dataset(folder), headers={"Content-Type": "application/gzip"})
    source = {"kind": "upload", "object": upload.json()["object"], "origin": "custom"}
    added = client.post("/benchmarks", json={"key": KEY, "name": "Custom", "source": source})
    assert added.status_code == 201, added.text
    return added.json()["id"]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`proctor up`, with a workspace bound to a repository and a benchmark of its own beside the managed one."""
    place = tmp_path_factory.mktemp("osmosis")
    home, log = place / "proctor", place / "up.log"
    port = _free_port()
    clean: Mapping[str, str] = {name: text for name, text in os.environ.items() if not name.startswith("PROCTOR_")}
    argv = [sys.executable, "-m", "proctor.cli.main", "up", "--home", str(home), "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen([*argv, "--backend", "bubblewrap"], env=clean, stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: httpx.get(f"{url}/readyz").status_code == 200, process, log)
        folders = [place / name for name in ("user", "folder", "tasks")]
        for folder in folders:
            folder.mkdir()
        made = Site(url, (home / "token").read_text().strip(), folders[0], folders[1], clone_of(REPO, place / "clone"))
        with made.client() as client:
            bound = client.patch("/workspaces/default", json={"repo": REPO})
            assert bound.status_code == 200, bound.text
            own = _add_benchmark(client, folders[2])
            for benchmark in ("first-steps", own):
                wait_for(
                    lambda one=benchmark: client.get(f"/benchmarks/{one}").json().get("status") == "ready", process, log
                )
        yield made
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(log.read_text()[-4000:])
