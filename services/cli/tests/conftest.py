import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from proctor.cli.main import main

SERVERS_ONLY = """
import asyncio, sys
from pathlib import Path
from proctor.cli.platform.installation import platform
from proctor.cli.platform.services import Plan

async def main():
    async with platform(Path(sys.argv[1]), Plan(port=int(sys.argv[2])), lambda _: None, lambda *_: []):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def servers_process(free_port: Callable[[], int]) -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Starts NATS and PostgreSQL in a home, supervised by a process of its own; returns once they are ready."""
    started: list[subprocess.Popen[str]] = []

    def start(home: Path) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", SERVERS_ONLY, str(home), str(free_port())]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PGPORT": "1"})
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def free_port() -> Callable[[], int]:
    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


@pytest.fixture
def processes_with() -> Callable[[str], list[psutil.Process]]:
    """The live processes whose command line holds a text."""

    def find(text: str) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if process.info["status"] != psutil.STATUS_ZOMBIE and text in " ".join(process.info["cmdline"] or [])
        ]

    return find


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Wait for a condition, for ten seconds at most."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline, "it didn't come true"
            time.sleep(0.02)

    return wait


@pytest.fixture
def until_async() -> Callable[[Callable[[], bool]], Any]:
    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.02)

    return wait


@pytest.fixture
def http_server() -> Iterator[Callable[[dict[str, tuple[int, Any]]], str]]:
    """An HTTP server that answers `METHOD path` from a table of (status, JSON or text); 404 without a row."""
    servers: list[ThreadingHTTPServer] = []

    def serve(table: dict[str, tuple[int, Any]]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = table.get(f"{self.command} {self.path}", (404, {"detail": f"no {self.path}"}))
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the standard library's names

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def gateway(
    tmp_path: Path,
    database_url: str,
    nats_url: str,
    free_port: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """A gateway of this test's own; the command line finds it, as its owner, by the environment."""
    home, url = tmp_path / "home", f"http://127.0.0.1:{(port := free_port())}"
    own = {"HOME": str(home), "NATS_URL": nats_url, "DATABASE_URL": database_url, "PORT": str(port)}
    env = {**os.environ, **{f"PROCTOR_{name}": value for name, value in own.items()}}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "proctor.gateway"], env=env, stderr=log)

    def answers() -> bool:
        assert process.poll() is None, (tmp_path / "log").read_text()
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{url}/healthz").is_success
        return False

    deadline = time.monotonic() + 30
    while not answers():
        assert time.monotonic() < deadline, (tmp_path / "log").read_text()
        time.sleep(0.05)
    monkeypatch.setenv("PROCTOR_HOME", str(home))
    monkeypatch.setenv("PROCTOR_URL", url)
    yield url
    process.terminate()
    process.wait(20)


@pytest.fixture
def proctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command in this process; `given` is its stdin, what it changes in the environment is undone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*words: str, token: str | None = None, given: str = "") -> Done:
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
            for variable in ("PROCTOR_WORKSPACE", "PROCTOR_PROFILE", "PROCTOR_INSECURE"):
                patch.setenv(variable, "")
                patch.delenv(variable)
            patch.setattr(sys, "argv", ["proctor", *words])
            patch.setattr(sys, "stdin", io.StringIO(given))
            if token is not None:
                patch.setenv("PROCTOR_TOKEN", token)
            main()
        assert isinstance(ended.value.code, int | None)
        captured = capsys.readouterr()
        return Done(ended.value.code or 0, captured.out, captured.err)

    return run
