"""The bus goes away and comes back."""

import asyncio
import time
from typing import Any

import pytest

from proctor.contracts.manifest import Manifest
from proctor.eventlog import connect, ensure_streams

ORACLE: dict[str, Any] = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}


@pytest.mark.slow
async def test_a_request_says_so_in_time_and_a_repeat_succeeds(
    start_gateway: Any, nats_server: Any, manifest: Manifest
) -> None:
    bus = await connect(nats_server.url, "prepare")
    await ensure_streams(bus)
    await bus.close()
    async with start_gateway(nats_server.url) as gateway:
        await gateway.insert_benchmark(manifest)
        headers = {"Idempotency-Key": "through the outage"}
        nats_server.kill()
        began = time.monotonic()
        answer = await gateway.client.post("/api/v1/runs", json=ORACLE, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
        assert time.monotonic() - began < 25
        ready = await gateway.client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["nats"]["ok"]) == (503, False)
        assert (await gateway.client.get("/healthz")).status_code == 200
        assert (await gateway.client.get("/api/v1/runs")).status_code == 200
        nats_server.start()
        for _ in range(100):
            if (await gateway.client.get("/readyz")).json()["checks"]["nats"]["ok"]:
                break
            await asyncio.sleep(0.1)
        answer = await gateway.client.post("/api/v1/runs", json=ORACLE, headers=headers)
        assert answer.status_code == 201, answer.text
        filters = f"ev.{gateway.workspace}.run.*.gateway.run.submitted"
        assert len([record async for record in gateway.log.read(filters)]) == 1
