import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import nats
import nats.errors
import psutil
import pytest

from proctor.cli.failure import Failure
from proctor.cli.platform.home import Home, Running, open_home, read_running
from proctor.cli.platform.installation import platform
from proctor.cli.platform.nats import nats_bus
from proctor.cli.platform.ports import check_port
from proctor.cli.platform.program import Program
from proctor.cli.platform.services import Plan
from proctor.cli.platform.supervisor import Child

type Start = Callable[[Path], subprocess.Popen[str]]


def silent(_: Child | str) -> None:
    pass


def no_services(*settings: object) -> list[Program]:
    return []


def running_in(home: Path) -> Running:
    running = read_running(Home(home))
    assert running is not None
    return running


async def write(running: Running) -> None:
    connection = await nats.connect(running.nats_url)
    await connection.jetstream().publish("ev.w.run.r.gateway.run.submitted", b"{}")
    await connection.close()
    database = await asyncpg.connect(running.database_url)
    await database.execute("CREATE TABLE kept (value int); INSERT INTO kept VALUES (7)")
    await database.close()


async def read(running: Running) -> tuple[int, int]:
    connection = await nats.connect(running.nats_url)
    info = await connection.jetstream().stream_info("EVENTS")
    await connection.close()
    database = await asyncpg.connect(running.database_url)
    value = await database.fetchval("SELECT value FROM kept")
    await database.close()
    return info.state.messages, value


async def test_a_second_start_finds_its_data(tmp_path: Path, servers_process: Start) -> None:
    home = tmp_path / "home"
    first = servers_process(home)
    await write(running_in(home))
    address = running_in(home).nats_url
    first.send_signal(signal.SIGINT)
    first.wait(20)
    servers_process(home)
    assert await read(running_in(home)) == (1, 7)
    assert running_in(home).nats_url == address


async def test_a_killed_supervisor_leaves_no_orphans_and_the_next_start_works(
    tmp_path: Path,
    servers_process: Start,
    processes_with: Callable[[str], list[psutil.Process]],
    until: Callable[[Callable[[], bool]], None],
) -> None:
    home = tmp_path / "home"
    first = servers_process(home)
    await write(running_in(home))
    assert {process.name() for process in processes_with(str(home))} >= {"nats-server", "postgres"}
    first.kill()
    first.wait()
    await asyncio.to_thread(until, lambda: processes_with(str(home)) == [])
    servers_process(home)
    assert await read(running_in(home)) == (1, 7)


async def test_a_home_too_deep_for_a_unix_socket_works(tmp_path: Path, servers_process: Start) -> None:
    home = tmp_path / ("d" * 100) / "home"
    process = servers_process(home)
    running = running_in(home)
    await write(running)
    assert await read(running) == (1, 7)
    folder = Path(parse_qs(urlsplit(running.database_url).query)["host"][0])
    assert folder.is_dir()
    process.send_signal(signal.SIGINT)
    process.wait(20)
    assert not folder.exists()


async def test_other_users_of_the_machine_reach_neither_server(tmp_path: Path, servers_process: Start) -> None:
    home = tmp_path / "home"
    servers_process(home)
    running = running_in(home)
    address = running.nats_url.split("@")[1]
    with pytest.raises(nats.errors.Error):
        await nats.connect(f"nats://{address}", allow_reconnect=False, max_reconnect_attempts=0)
    for path in (home, home / "postgres" / "socket", home / "postgres" / "data"):
        assert path.stat().st_mode & 0o077 == 0, path
    for path in (home / "nats" / "nats.conf", home / "nats" / "password"):
        assert path.stat().st_mode & 0o077 == 0, path


async def test_both_servers_listen_on_loopback_alone(
    tmp_path: Path, servers_process: Start, processes_with: Callable[[str], list[psutil.Process]]
) -> None:
    home = tmp_path / "home"
    servers_process(home)
    heard = [
        (process.name(), connection.laddr.ip)
        for process in processes_with(str(home))
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert heard == [("nats-server", "127.0.0.1")]


async def test_a_port_in_use_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Failure, match=rf"port {port} is in use.*--port"):
            async with platform(tmp_path / "home", Plan(port=port), silent, no_services):
                pass
    assert not (tmp_path / "home" / "postgres").exists()
    check_port("127.0.0.1", port)


async def test_a_failing_database_names_its_log_and_leaves_nothing_running(
    tmp_path: Path,
    processes_with: Callable[[str], list[psutil.Process]],
    free_port: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proctor.cli.platform.restarts.DELAYS", (0.01,))
    home = open_home(tmp_path / "home")
    plan = Plan(port=free_port())
    async with platform(home.root, plan, silent, no_services):
        pass
    (home.postgres / "data" / "postgresql.conf").write_text("nonsense = 1\n")
    with pytest.raises(Failure, match=r"postgres doesn't start") as caught:
        async with platform(home.root, plan, silent, no_services):
            pass
    assert any("nonsense" in line for line in caught.value.details)
    assert os.fspath(home.log("postgres")) in caught.value.message
    assert processes_with(str(home.root)) == []


async def test_a_kept_port_that_another_holds_is_replaced_and_that_is_said(tmp_path: Path) -> None:
    home, told = open_home(tmp_path / "home"), list[str]()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (home.nats / "port").write_text(f"{port}\n")
        bus = nats_bus(home, "127.0.0.1", None, told.append)
        with pytest.raises(Failure, match=rf"port {port} is in use.*--nats-port"):
            nats_bus(home, "127.0.0.1", port, told.append)
    (line,) = told
    new = urlsplit(bus.url).port
    assert f"{port} is taken" in line
    assert f"port {new}" in line
    assert urlsplit(nats_bus(home, "127.0.0.1", None, told.append).url).port == new


async def test_the_address_for_other_machines_is_in_a_private_file_and_only_where_they_can_reach_it(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    home, port = open_home(tmp_path / "home"), free_port()
    open_bus = nats_bus(home, "0.0.0.0", port, silent)
    assert open_bus.outside is not None
    assert open_bus.outside.stat().st_mode & 0o777 == 0o600
    url = urlsplit(open_bus.outside.read_text().strip())
    assert (url.username, url.port) == ("proctor", port)
    assert url.hostname not in {None, "0.0.0.0"}
    assert urlsplit(open_bus.url).hostname == "127.0.0.1"
    assert nats_bus(home, "127.0.0.1", None, silent).outside is None
    assert not open_bus.outside.exists()
