"""TCP ports: whether one can be listened on, a free one, and one that is likely to be free again."""

import errno
import random
import socket
from typing import Final, NamedTuple

from proctor.cli.failure import Failure

_STEADY: Final = range(20_000, 32_000)
"""Below what Linux gives to outgoing connections, one of which could hold the port at the next start."""

_ANYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound


class Options(NamedTuple):
    """What chooses an address on the command line."""

    host: str
    port: str


HTTP: Final = Options("--host", "--port")
NATS: Final = Options("--nats-host", "--nats-port")


def check_port(host: str, port: int, options: Options = HTTP) -> None:
    """Raises Failure when the address can't be listened on."""
    if error := _refused(host, port):
        raise Failure(_cannot_listen(host, port, error, options)) from error


def is_free(host: str, port: int) -> bool:
    return _refused(host, port) is None


def _refused(host: str, port: int) -> OSError | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error
    return None


def _cannot_listen(host: str, port: int, error: OSError, options: Options) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use: stop what listens there, or choose another with {options.port}"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"port {port} needs more rights than you have: choose one above 1023 with {options.port}"
    return f"can't listen on {host}:{port} ({error.strerror}): choose another address with {options.host}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def steady_port(host: str) -> int:
    """A free port to keep over restarts."""
    tried = random.sample(_STEADY, 50)
    return next((port for port in tried if is_free(host, port)), None) or free_port()


def is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def local_address(host: str) -> str:
    """How this machine reaches what listens on `host`."""
    return "127.0.0.1" if host in _ANYWHERE else host


def outside_address(host: str) -> str:
    """How other machines reach what listens on `host`; of several addresses the one that faces the default route."""
    if host not in _ANYWHERE:
        return host
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # a documentation address: nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
