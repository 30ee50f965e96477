"""The HTTP server: one socket, and a stop that doesn't wait for open streams."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Generator
from typing import Final

import uvicorn
from litestar import Litestar

from proctor.gateway.patience import PatientProtocol

GRACE_SECONDS: Final = 5


class CannotListen(Exception):
    """The address can't be had."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """The process has its own signal handlers; they set `stop`."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Raises `CannotListen` with the reason and what to do."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise CannotListen(
            f"can't listen on {host} port {port}: {error.strerror or error}; "
            "stop what uses it or choose another with PROCTOR_PORT"
        ) from error


async def serve_http(app: Litestar, listener: socket.socket, stop: asyncio.Event, stopping: Callable[[], None]) -> None:
    """Until `stop` is set; then `stopping` is called so that open streams end by themselves."""
    server = _Server(
        uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )

    async def watch() -> None:
        await stop.wait()
        stopping()
        server.should_exit = True

    watcher = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listener])
    finally:
        watcher.cancel()
