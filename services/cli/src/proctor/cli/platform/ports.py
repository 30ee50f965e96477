"""TCP ports: whether one can be listened on, and a free one."""

import errno
import socket

from proctor.cli.failure import Failure


def check_port(host: str, port: int) -> None:
    """Raises Failure when the address can't be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise Failure(_cannot_listen(host, port, error)) from error


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use: stop what listens there, or choose another with --port"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"port {port} needs more rights than you have: choose one above 1023 with --port"
    return f"can't listen on {host}:{port} ({error.strerror}): choose another address with --host"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
