"""How long `proctor up` takes until it is ready, on a new home and on one it knows, and what it holds when idle."""

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

import psutil
from pieces import free_port
from report import Row

PATIENCE = 90
IDLE_SECONDS = 15
AGAIN = 3


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as place:
        home = Path(place) / "home"
        with _up(home) as (_, first):
            pass
        later = list[float]()
        for _ in range(AGAIN - 1):
            with _up(home) as (_, seconds):
                later.append(seconds)
        with _up(home) as (process, seconds):
            later.append(seconds)
            time.sleep(IDLE_SECONDS)
            memory = _memory(home, process)
    return [
        Row("start-up, new home", "s", 1, first),
        Row("start-up, known home", "s", AGAIN, sorted(later)[AGAIN // 2]),
        *(Row(f"idle memory, {name}", "MB", 1, size) for name, size in memory.items()),
        Row("idle memory, all", "MB", 1, sum(memory.values())),
    ]


@contextlib.contextmanager
def _up(home: Path) -> Generator[tuple[psutil.Process, float]]:
    """The supervisor, and the seconds until the gateway said that all of it is ready."""
    port = free_port()
    command = [Path(sys.executable).with_name("proctor"), "up", "--home", home, "--port", str(port)]
    began = time.perf_counter()
    with (home.parent / "up.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while not _ready(port):
            if process.poll() is not None or time.perf_counter() - began > PATIENCE:
                raise RuntimeError((home.parent / "up.log").read_text())
            time.sleep(0.01)
        yield psutil.Process(process.pid), time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, ConnectionError):
        return False


def _memory(home: Path, supervisor: psutil.Process) -> dict[str, float]:
    """Megabytes by program, shared pages divided among those who share them; PostgreSQL with all its processes."""
    held = {"supervisor": _own(supervisor)}
    for file in sorted((home / "run").glob("*.pid")):
        process = psutil.Process(int(file.read_text().split()[0]))
        held[file.stem] = _own(process) + sum(_own(child) for child in process.children(recursive=True))
    return held


def _own(process: psutil.Process) -> float:
    return round(process.memory_full_info().pss / 2**20, 1)
