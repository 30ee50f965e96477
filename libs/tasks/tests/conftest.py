from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

type MakeTask = Callable[..., Path]

_LEAST: Mapping[str, str] = {
    "task.toml": "",
    "instruction.md": "Say hello.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    """`make_task(name, {path: text or None})`: the least task there is, with files added, replaced or left out."""

    def make(name: str = "hello", files: Mapping[str, str | None] | None = None) -> Path:
        root = tmp_path / name
        for path, text in {**_LEAST, **(files or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        return root

    return make
