"""Anything at all sent to every route of the OpenAPI document: nothing breaks, and every answer is one it describes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "ignored_auth",
    "missing_required_header",
    "unsupported_method",
    "use_after_free",
)
NEVER_ENDS = "run_events"

type Fuzz = Callable[..., None]


@pytest.fixture
def fuzz(site: Any, target: Any, tmp_path: Path) -> Fuzz:
    """Runs schemathesis as the owner of the workspace, who is an operator too."""
    things = target.things
    places = {
        "benchmark": things["benchmark"],
        "run": things["run_name"],
        "attempt": things["identity"],
        "phase": "agent",
        "path": "summary.csv",
        "name": target.workspace,
    }
    description = tmp_path / "openapi.json"
    description.write_text(json.dumps(site.contract.document))

    def run(*options: str) -> None:
        argv = [str(Path(sys.executable).with_name("schemathesis")), "run", str(description), "--url", site.url]
        headers = {"Authorization": f"Bearer {target.tokens['owner']}", "Proctor-Workspace": target.workspace}
        argv += [part for name, value in headers.items() for part in ("-H", f"{name}:{value}")]
        argv += ["--checks", ",".join(CHECKS), "--exclude-operation-id", NEVER_ENDS, "--request-timeout", "20"]
        argv += ["--seed", "20261130", "--generation-database", "none", "--suppress-health-check", "all"]
        argv += ["--continue-on-failure", "--no-color", "--warnings", "off", *options]
        hooks = {"SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("places.py")), "PLACES": json.dumps(places)}
        done = subprocess.run(
            argv, cwd=tmp_path, env={**os.environ, **hooks}, capture_output=True, text=True, timeout=350, check=False
        )
        assert done.returncode == 0, done.stdout[-30_000:] + done.stderr[-3000:]
        assert site.operator.get("/readyz").status_code == 200

    return run


def test_a_little_of_anything(fuzz: Fuzz) -> None:
    fuzz("--phases", "examples,fuzzing", "--max-examples", "3", "--no-shrink")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_lot_of_anything(fuzz: Fuzz) -> None:
    fuzz("--phases", "examples,coverage,fuzzing", "--max-examples", "25", "--no-shrink")
