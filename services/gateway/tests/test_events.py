"""The live feed of a run, and how the server stops with it open."""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.contracts.manifest import Manifest
from proctor.gateway.feed import ProjectionFeed
from proctor.gateway.routes.events import changes
from proctor.gateway.server import listen

ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}
OF = ("w", "r")


async def test_messages_are_thinned_out_and_the_last_change_is_never_lost() -> None:
    feed, stop = ProjectionFeed(""), asyncio.Event()
    received: list[tuple[float, Any]] = []

    async def listen() -> None:
        received.extend([(time.monotonic(), message) async for message in changes(feed, OF, None, stop)])

    listener = asyncio.create_task(listen())
    await asyncio.sleep(0.05)
    began = time.monotonic()
    for position in range(1, 101):
        feed.notified(None, 0, "", json.dumps({"position": position, "changed": [list(OF)]}))
        await asyncio.sleep(0.01)
    feed.notified(None, 0, "", json.dumps({"position": 900, "changed": [["w", "another"]]}))
    await asyncio.sleep(0.6)
    stop.set()
    feed.wake()
    await asyncio.wait_for(listener, 2)
    messages = [message for at, message in received if at > began]
    positions = [json.loads(message.data)["position"] for message in messages if message.event == "change"]
    assert positions[-1] >= 100
    assert len(positions) <= 4 * (time.monotonic() - began) + 1
    assert messages[-1].event == "bye"
    assert all(int(message.id) == json.loads(message.data)["position"] for message in messages[:-1])


@pytest.mark.parametrize(("seen", "at_once"), [(None, True), (6, True), (7, False)])
async def test_a_reader_that_missed_nothing_is_told_nothing(seen: int | None, at_once: bool) -> None:
    feed, stop = ProjectionFeed(""), asyncio.Event()
    feed.position = 7
    stream = changes(feed, OF, seen, stop)
    first = asyncio.ensure_future(anext(stream))
    done, _ = await asyncio.wait([first], timeout=0.2)
    assert bool(done) is at_once
    first.cancel()


async def test_a_change_arrives_after_its_commit(gateway: Any, projection: None, manifest: Manifest) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await gateway.client.post("/api/v1/runs", json=ORACLE)).json()["id"]
    async with gateway.client.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.aiter_lines()
        first = await next_data(lines)
        await gateway.client.post(f"/api/v1/runs/{run}/stop", json={})
        position = (await gateway.client.get(f"/api/v1/runs/{run}")).json()["position"]
        assert first["position"] < position
        while (await next_data(lines))["position"] < position:
            pass
    missing = await gateway.client.get("/api/v1/runs/none/events")
    assert missing.status_code == 404


async def next_data(lines: Any) -> dict[str, Any]:
    async with asyncio.timeout(10):
        async for line in lines:
            if line.startswith("data:"):
                return json.loads(line.removeprefix("data:"))
    raise AssertionError("the stream ended")


async def start(home: Path, nats_url: str, database_url: str, port: int) -> asyncio.subprocess.Process:
    env = {
        **os.environ,
        "PROCTOR_HOME": str(home),
        "PROCTOR_NATS_URL": nats_url,
        "PROCTOR_DATABASE_URL": database_url,
        "PROCTOR_PORT": str(port),
        "PROCTOR_READY_FILE": str(home / "ready"),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proctor.gateway", env=env, stderr=asyncio.subprocess.PIPE
    )


async def test_sigterm_ends_open_streams_at_once(
    gateway: Any, projection: None, manifest: Manifest, tmp_path: Path, nats_url: str, database_url: str
) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await gateway.client.post("/api/v1/runs", json=ORACLE)).json()["id"]
    probe = listen("127.0.0.1", 0)
    port = probe.getsockname()[1]
    probe.close()
    home = gateway.settings.home
    process = await start(home, nats_url, database_url, port)
    async with httpx.AsyncClient(headers=gateway.client.headers, timeout=30) as client:
        for _ in range(600):
            if (home / "ready").exists():
                break
            await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{port}/api/v1/runs/{run}/events"
        async with client.stream("GET", url) as stream:
            lines = stream.aiter_lines()
            await next_data(lines)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            rest = [line async for line in lines]
            assert "event: bye" in rest
        assert await asyncio.wait_for(process.wait(), 10) == 0
        assert time.monotonic() - began < 5


async def test_a_reader_goes_on_where_it_was_after_a_restart(
    gateway: Any, projection: None, manifest: Manifest, nats_url: str, database_url: str
) -> None:
    benchmark = await gateway.add_benchmark(manifest)
    await gateway.until(f"/api/v1/benchmarks/{benchmark}", status="ready")
    run = (await gateway.client.post("/api/v1/runs", json=ORACLE)).json()["id"]
    probe = listen("127.0.0.1", 0)
    port = probe.getsockname()[1]
    probe.close()
    url, seen = f"http://127.0.0.1:{port}/api/v1/runs/{run}/events", ""
    async with httpx.AsyncClient(headers=gateway.client.headers, timeout=30) as client:
        for _ in range(2):
            process = await start(gateway.settings.home, nats_url, database_url, port)
            async with asyncio.timeout(30):
                while not await answers(client, port):
                    await asyncio.sleep(0.05)
            async with client.stream("GET", url, headers={"Last-Event-ID": seen}) as stream:
                message = await next_data(stream.aiter_lines())
            current = (await gateway.client.get(f"/api/v1/runs/{run}")).json()["position"]
            assert message["position"] >= current > int(seen or 0)
            seen = str(message["position"])
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 10) == 0
            await gateway.client.post(f"/api/v1/runs/{run}/stop", json={})
            await gateway.until(f"/api/v1/runs/{run}", stop_requested=True)


async def answers(client: httpx.AsyncClient, port: int) -> bool:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/healthz")).is_success
    except httpx.TransportError:
        return False


async def test_a_port_in_use_is_one_clear_message(tmp_path: Path, nats_url: str, database_url: str) -> None:
    with listen("127.0.0.1", 0) as taken:
        process = await start(tmp_path, nats_url, database_url, taken.getsockname()[1])
        _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    (line,) = errors.decode().strip().splitlines()
    assert "PROCTOR_PORT" in line
    assert "in use" in line
