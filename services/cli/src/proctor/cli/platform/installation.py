"""Bring a whole installation up, and down again."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.cli.output import say
from proctor.cli.platform.home import Home, Running, held, open_home, write_running
from proctor.cli.platform.nats import Bus, nats_bus
from proctor.cli.platform.ports import NATS, check_port
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
    bus: Bus
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
    note: Callable[[str], None] = say,
) -> AsyncGenerator[Platform]:
    """Everything ready inside, everything gone after. Raises Failure with what is in the way; then a home that wasn't
    there isn't there still."""
    home = _open_home(path, plan)
    async with contextlib.AsyncExitStack() as after:
        after.enter_context(held(home))
        _check_ports(plan)
        await asyncio.to_thread(end_leftovers, home)
        cluster = await asyncio.to_thread(postgres_cluster, home)
        after.callback(cluster.forget_socket)
        bus = nats_bus(home, plan.nats_host, plan.nats_port, note)
        supervisor = Supervisor(home, tell)
        after.push_async_callback(supervisor.stop)
        supervisor.start([bus.program, cluster.program])
        await supervisor.ready(["nats"], SERVER_PATIENCE)
        await _streams(bus.url)
        supervisor.start(services(home, plan, bus.url, cluster.url))
        await asyncio.gather(
            supervisor.ready(list(supervisor.children), SERVICE_PATIENCE), asyncio.to_thread(cluster.flush)
        )
        running = Running(os.getpid(), plan.url, bus.url, cluster.url)
        write_running(home, running)
        yield Platform(home, running, bus, supervisor)


def _open_home(path: Path, plan: Plan) -> Home:
    """One that is there is opened before its ports are asked for: who holds it may hold them too, and is named."""
    if not path.exists():
        _check_ports(plan)
    return open_home(path)


def _check_ports(plan: Plan) -> None:
    check_port(plan.host, plan.port)
    if plan.nats_port is not None:
        check_port(plan.nats_host, plan.nats_port, NATS)
