"""Bring a whole installation up, and down again."""

import asyncio
import contextlib
import os
import shlex
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.cli.platform.home import Home, Running, held, open_home, write_running
from proctor.cli.platform.nats import nats_program
from proctor.cli.platform.ports import check_port
from proctor.cli.platform.postgres import postgres_cluster
from proctor.cli.platform.program import Program, end_leftovers
from proctor.cli.platform.services import Plan, service_programs
from proctor.cli.platform.supervisor import Child, Supervisor
from proctor.eventlog import connect, ensure_streams

SERVER_PATIENCE: Final = 60.0
SERVICE_PATIENCE: Final = 90.0


@dataclass(frozen=True, slots=True)
class Platform:
    home: Home
    running: Running
    supervisor: Supervisor


async def _streams(nats_url: str) -> None:
    connection = await connect(nats_url, "proctor-up")
    try:
        await ensure_streams(connection)
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def platform(
    path: Path,
    plan: Plan,
    tell: Callable[[Child], None],
    services: Callable[[Home, Plan, str, str], Iterable[Program]] = service_programs,
) -> AsyncGenerator[Platform]:
    """Everything ready inside, everything gone after. Raises Failure with what is in the way."""
    home = open_home(path)
    async with contextlib.AsyncExitStack() as after:
        after.enter_context(held(home))
        check_port(plan.host, plan.port)
        await asyncio.to_thread(end_leftovers, home)
        cluster = await asyncio.to_thread(postgres_cluster, home)
        after.callback(cluster.forget_socket)
        nats, nats_url = nats_program(home)
        supervisor = Supervisor(home, tell)
        after.push_async_callback(supervisor.stop)
        supervisor.start([nats, cluster.program])
        await supervisor.ready(["nats"], SERVER_PATIENCE)
        await _streams(nats_url)
        supervisor.start(services(home, plan, nats_url, cluster.url))
        await asyncio.gather(
            supervisor.ready(list(supervisor.children), SERVICE_PATIENCE), asyncio.to_thread(cluster.flush)
        )
        running = Running(os.getpid(), plan.url, nats_url, cluster.url)
        write_running(home, running)
        yield Platform(home, running, supervisor)


def next_command(home: Home, command: str) -> str:
    """A command to copy, with the home named."""
    return f"proctor {command} --home {shlex.quote(str(home.root))}"
