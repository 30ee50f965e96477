"""A bus of the test's own, and datasets to sync."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from nats.aio.client import Client

LEAST = {
    "task.toml": '[metadata]\ncategory = "files"\n',
    "instruction.md": "Say hello.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n",
}


class Server(Protocol):
    url: str

    def start(self) -> None: ...
    def kill(self) -> None: ...


@pytest.fixture
def own(own_bus: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A bus of the test's own on which nothing that was lost is waited for long."""
    monkeypatch.setattr("proctor.objects.store.ANSWER_SECONDS", 1.0)
    monkeypatch.setattr("proctor.eventlog.log.ACK_SECONDS", 0.5)
    monkeypatch.setattr("proctor.eventlog.consumer.HEARTBEAT_SECONDS", 0.3)
    return own_bus


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where uploads are unpacked, as the home's sync folder is."""
    return tmp_path / "home" / "sync"


@pytest.fixture
def make_dataset(tmp_path: Path) -> Callable[..., Path]:
    """A folder of the least tasks there are. `files`: more of it, None for one that is left out."""

    def make(*names: str, files: dict[str, str | bytes | None] | None = None, folder: str = "set") -> Path:
        root = tmp_path / folder
        content: dict[str, str | bytes | None] = {
            f"{name}/{path}": text for name in names for path, text in LEAST.items()
        }
        for path, text in {**content, **(files or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(text.encode() if isinstance(text, str) else text)
        return root

    return make
