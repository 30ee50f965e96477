"""Agents that misbehave: each gets a typed outcome, and its siblings never notice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.parametrize(
        "platform", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)], indirect=True
    ),
]

TASK = """
version = "1.0"
[agent]
timeout_sec = {timeout}
[verifier]
timeout_sec = 20
[environment]
memory_mb = 256
storage_mb = 128
network_mode = "no-network"
"""
VERIFIER = """#!/bin/bash
# anything an agent left running is visible here
size() { [[ -f /app/alive ]] && wc -c </app/alive || echo 0; }
before=$(size); sleep 0.3; after=$(size)
if [[ $before != "$after" ]]; then echo '{"reward": 0.25}' >/logs/verifier/reward.json; exit; fi
[[ -f /app/done ]] && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt
"""

AGENTS = {
    # command, outcome, kind, score
    "does it": ("touch done", "passed", None, 1),
    "isn't found": ("no-such-agent --solve", "failed", "agent_command_not_found", 0),
    "fails": ("touch done; exit 3", "passed", "agent_exit_nonzero", 1),
    "hangs": (
        "(setsid bash -c 'while :; do echo >>alive; sleep 0.05; done' &) ; sleep 1000",
        "failed",
        "agent_timeout",
        0,
    ),
    "prints 100 MB": ("head -c 100000000 /dev/zero; touch done", "passed", None, 1),
    "prints 0xFF": ("printf '\\xff\\xfe\\x1b[2J'; touch done", "passed", None, 1),
    "kills what it can": ("touch done; kill -9 -1", "failed", None, None),
    "eats memory": ("x=$(head -c 900000000 /dev/zero | tr '\\0' x); touch done", "failed", None, 0),
}
BOMBS = {
    "forks for ever": ("f() { f | f & }; f; sleep 1000", "failed", "agent_timeout", 0),
    "fills the disk": ("head -c 3000000000 /dev/zero >big || touch done", "passed", None, None),
}


@pytest.fixture
def one_task(tmp_path: Path) -> Path:
    task = tmp_path / "mischief" / "one-task"
    for folder in ("environment", "tests", "solution"):
        (task / folder).mkdir(parents=True)
    (task / "task.toml").write_text(TASK.format(timeout=8))
    (task / "instruction.md").write_text("Make the file done.\n")
    (task / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /app\n")
    (task / "tests" / "test.sh").write_text(VERIFIER)
    (task / "solution" / "solve.sh").write_text("#!/bin/bash\ntouch done\n")
    return task.parent


def _body(agents: dict[str, Any]) -> dict[str, Any]:
    return {
        "experiment_config": {"benchmark": "test/mischief"},
        "agents": [{"harness": "command", "env": {"PROCTOR_COMMAND": row[0]}} for row in agents.values()],
        "execution_config": {"max_concurrent_attempts": 4},
    }


async def test_each_gets_its_outcome(
    full: Any, platform: Any, one_task: Path, add_benchmark: Callable[..., Any], run_to_end: Callable[..., Any]
) -> None:
    benchmark = await add_benchmark(one_task, "test/mischief")
    assert benchmark["status"] == "ready", benchmark
    run, results = await run_to_end(_body(AGENTS))
    assert run["status"] == "finished", run
    by_name = dict(zip(AGENTS, (results["one-task", index] for index in range(len(AGENTS))), strict=True))
    for name, (_, outcome, kind, score) in AGENTS.items():
        result = by_name[name]
        if name == "kills what it can":
            # in Docker the loop that ran it dies too and is opened again; in bubblewrap it is PID 1 and lives
            assert result["kind"] in {"agent_killed", "agent_broke_sandbox", "agent_exit_nonzero"}, (name, result)
            continue
        if name == "eats memory":
            assert result["outcome"] == "failed", (name, result)
            assert result["kind"] in {
                "agent_killed",
                "agent_out_of_memory",
                "agent_broke_sandbox",
                "agent_exit_nonzero",
            }, (name, result)
            continue
        assert (result["outcome"], result["kind"]) == (outcome, kind), (name, result)
        assert float(result["score"]) == score, (name, result)
    assert platform.left() == []


async def test_bombs_hurt_only_themselves(
    full: Any, platform: Any, one_task: Path, add_benchmark: Callable[..., Any], run_to_end: Callable[..., Any]
) -> None:
    await add_benchmark(one_task, "test/mischief")
    agents = {**BOMBS, "an honest sibling": AGENTS["does it"]}
    run, results = await run_to_end(_body(agents))
    assert run["status"] == "finished", run
    assert results["one-task", 0]["outcome"] in {"failed", "errored"}, results["one-task", 0]
    assert results["one-task", 1]["outcome"] is not None
    assert results["one-task", 2]["outcome"] == "passed", results["one-task", 2]
    assert platform.left() == []
