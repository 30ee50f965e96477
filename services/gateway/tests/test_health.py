"""Whether the platform can do its work, part by part."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts.events import BenchmarkRemoved
from proctor.gateway.lag import late

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATE: dict[float | None, bool] = {None: False, 0: False, 14: False, 16: True, 86_400: True, -5: False}


@pytest.mark.parametrize("seconds", LATE)
def test_an_event_is_late_after_a_while(seconds: float | None) -> None:
    oldest = None if seconds is None else NOW - timedelta(seconds=seconds)
    assert late(oldest, NOW) == LATE[seconds]


async def append(gateway: Any) -> int:
    place = {"workspace": gateway.workspace, "aggregate": "benchmark", "id": "b"}
    return await gateway.log.append(BenchmarkRemoved(removed_by="owner"), **place)


async def test_a_projection_that_stands_still_is_not_well(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    position = await append(gateway)
    await gateway.database.execute(
        "INSERT INTO leaderboard.position (name, sequence) VALUES ('read-models', $1)", position
    )
    while (shown := await projection(gateway))["position"] != position:
        pass
    assert shown == {"ok": True, "position": position, "lag": 0}
    assert await append(gateway) == position + 1
    assert await projection(gateway) == {"ok": True, "position": position, "lag": 1}
    monkeypatch.setattr("proctor.gateway.lag.LATE_SECONDS", 0.0)
    assert await projection(gateway) == {"ok": False, "position": position, "lag": 1}


async def test_the_scheduler_is_asked(gateway: Any, bus: Client) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b'{"workers": []}')

    assert (await checks(gateway))["scheduler"] == {"ok": False}
    subscription = await bus.subscribe("fleet.list", cb=answer)
    await bus.flush()
    assert (await checks(gateway))["scheduler"] == {"ok": True}
    await subscription.unsubscribe()


async def projection(gateway: Any) -> dict[str, Any]:
    return (await checks(gateway))["projection"]


async def checks(gateway: Any) -> dict[str, Any]:
    answer = await gateway.client.get("/readyz")
    parts = answer.json()["checks"]
    assert (answer.status_code == 200) == all(part["ok"] for part in parts.values())
    return parts
