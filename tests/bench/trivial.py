"""The three tasks that every runner is measured with: what they cost is what the runner costs."""

from pathlib import Path

NAMES = ("first", "second", "third")
ATTEMPTS = 4
"""Attempts of each task: 12 in all."""

_TASK = """\
schema_version = "1.4"

[task]
name = "bench/{name}"

[agent]
timeout_sec = 60.0

[verifier]
timeout_sec = 60.0

[environment]
network_mode = "{network}"
"""
_DOCKERFILE = "FROM debian:bookworm-slim\nWORKDIR /app\n"
_SOLVE = "#!/bin/bash\necho {name} >/app/answer.txt\n"
_TEST = """\
#!/bin/bash
reward=0
[[ $(</app/answer.txt) == {name} ]] && reward=1
echo "$reward" >/logs/verifier/reward.txt
"""


def write_tasks(root: Path, *, network: str = "public", sigkill: bool = False) -> Path:
    """`sigkill`: the image asks to be killed at once, which spares Harbor ten seconds of waiting."""
    for name in NAMES:
        files = {
            "task.toml": _TASK.format(name=name, network=network),
            "instruction.md": f"Write the word {name} to /app/answer.txt.\n",
            "environment/Dockerfile": _DOCKERFILE + ("STOPSIGNAL SIGKILL\n" if sigkill else ""),
            "solution/solve.sh": _SOLVE.format(name=name),
            "tests/test.sh": _TEST.format(name=name),
        }
        for path, text in files.items():
            file = root / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return root
