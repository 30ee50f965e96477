"""Tasks that are broken in their own way: each attempt says how, the others are scored."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCKERFILE = "FROM debian:bookworm-slim\nWORKDIR /app\n"
GOOD = "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"

VERIFIERS = {
    "good": (GOOD, "passed", None),
    "exits-with-one": (GOOD + "exit 1\n", "passed", None),
    "writes-nothing": ("#!/bin/bash\ntrue\n", "errored", "reward_missing"),
    "writes-nan": ("#!/bin/bash\necho nan > /logs/verifier/reward.txt\n", "errored", "reward_not_finite"),
    "writes-text": ("#!/bin/bash\necho passed > /logs/verifier/reward.txt\n", "errored", "reward_unparsable"),
    "writes-empty": ("#!/bin/bash\n: > /logs/verifier/reward.txt\n", "errored", "reward_empty"),
    "writes-no-keys": ("#!/bin/bash\necho '{}' > /logs/verifier/reward.json\n", "errored", "reward_no_keys"),
    "writes-two-keys": (
        '#!/bin/bash\necho \'{"a":1,"b":0}\' > /logs/verifier/reward.json\n',
        "errored",
        "reward_ambiguous",
    ),
    "never-ends": ("#!/bin/bash\nsleep 1000\n", "errored", "verifier_timeout"),
}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    root = tmp_path / "broken"
    for name, (script, _, _) in VERIFIERS.items():
        _task(root / name, script)
    _task(root / "no-instruction", GOOD)
    (root / "no-instruction" / "instruction.md").unlink()
    _task(root / "broken-toml", GOOD)
    (root / "broken-toml" / "task.toml").write_text("[agent\n")
    _task(root / "wont-build", GOOD, dockerfile="FROM debian:bookworm-slim\nRUN exit 7\n")
    _task(root / "no-image", GOOD, dockerfile=None, environment='docker_image = "proctor-test/not-there:1"\n')
    return root


def _task(root: Path, script: str, *, dockerfile: str | None = DOCKERFILE, environment: str = "") -> None:
    (root / "environment").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "solution").mkdir()
    (root / "task.toml").write_text(f"[verifier]\ntimeout_sec = 4\n[environment]\n{environment}")
    (root / "instruction.md").write_text("Do nothing.\n")
    (root / "tests" / "test.sh").write_text(script)
    (root / "solution" / "solve.sh").write_text("#!/bin/bash\ntrue\n")
    if dockerfile is not None:
        (root / "environment" / "Dockerfile").write_text(dockerfile)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("platform", "wont_build", "no_image"),
    [
        ("bubblewrap", "unsupported_environment", None),
        pytest.param("docker", "build_failed", "image_missing", marks=pytest.mark.docker),
    ],
    indirect=["platform"],
)
async def test_each_attempt_says_how(
    full: Any,
    broken: Path,
    add_benchmark: Callable[..., Any],
    run_to_end: Callable[..., Any],
    wont_build: str,
    no_image: str | None,
) -> None:
    benchmark = await add_benchmark(broken, "test/broken")
    assert benchmark["status"] == "ready"
    assert benchmark["unavailable_count"] == 2
    about = (await full.get(f"/benchmarks/{benchmark['id']}/tasks")).json()
    reasons = {one["name"]: one["reason"] for one in about["unavailable"]}
    assert "instruction.md" in reasons["no-instruction"]
    assert "task.toml" in reasons["broken-toml"]
    run, results = await run_to_end(
        {
            "experiment_config": {"benchmark": "test/broken"},
            "agents": [{"harness": "oracle"}],
            "execution_config": {"max_concurrent_attempts": 4},
        }
    )
    assert run["status"] == "finished"
    got = {name: (results[name, 0]["outcome"], results[name, 0]["kind"]) for name in VERIFIERS}
    assert got == {name: (outcome, kind) for name, (_, outcome, kind) in VERIFIERS.items()}
    assert results["wont-build", 0]["kind"] == wont_build
    if no_image is not None:
        assert results["no-image", 0]["kind"] == no_image
    errored = [result for result in results.values() if result["outcome"] == "errored"]
    assert all(result["message"] and result["score"] is None for result in errored)
