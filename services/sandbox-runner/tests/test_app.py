"""The whole service: one pool's queue, taken as places come free, until it is told to stop."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts.events import AgentStarted, AttemptDispatched, AttemptEvent
from proctor.contracts.messages import LeaseAnswer
from proctor.eventlog import EventLog
from proctor.eventlog.streams import ensure_work_consumer
from proctor.sandbox_runner.app import serve
from proctor.sandbox_runner.settings import RunnerSettings


async def test_a_stopped_runner_takes_nothing_more(
    stage: Any,
    make_task: Callable[..., Path],
    bus: Client,
    nats_url: str,
    tmp_path: Path,
) -> None:
    pool = f"p{uuid.uuid4().hex[:8]}"
    await ensure_work_consumer(bus, "attempt", pool)
    task = make_task({"solution/solve.sh": "#!/bin/bash\nsleep 1000\n"})
    works = [await stage.work(task, attempt=f"0-0-{number}") for number in (1, 2)]

    async def lease(message: Msg) -> None:
        await message.respond(LeaseAnswer(granted=True).model_dump_json().encode())

    settings = RunnerSettings(
        home=tmp_path / "served",
        nats_url=nats_url,
        runner_name="app",
        runner_capacity=1,
        runner_pool=pool,
        backend="bubblewrap",
    )
    worker = f"app-{settings.host}"
    await bus.subscribe(f"lease.start.{worker}", cb=lease)
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(settings, stop))
    for work in works:
        await dispatch(bus, AttemptDispatched(attempt=work.attempt, epoch=1, pool=pool, work=work), work.run, stage)
    await stage.until(works[0], AgentStarted)
    assert await stage.types(works[1]) == ["dispatched"]
    stop.set()
    await asyncio.wait_for(serving, 10)
    assert await stage.types(works[0]) == ["dispatched", "claimed", "sandbox_ready", "agent_started", "cleaned"]
    assert await stage.types(works[1]) == ["dispatched"]
    assert list((tmp_path / "served" / "runner" / worker / "held").iterdir()) == []


async def dispatch(bus: Client, event: AttemptEvent, run: str, stage: Any) -> None:
    log = EventLog(bus, "scheduler")
    await log.append(event, workspace=stage.workspace, aggregate="run", id=run, suffix=getattr(event, "pool", None))
