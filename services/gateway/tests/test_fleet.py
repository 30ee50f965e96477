"""The workers, asked of whoever schedules."""

from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts.messages import Beat, FleetAnswer, Held, WorkerView


async def test_the_schedulers_view_of_the_workers(gateway: Any, bus: Client) -> None:
    ours, theirs = (
        Held(workspace=workspace, run="r", attempt="0-0-1", epoch=1) for workspace in (gateway.workspace, "other")
    )
    beat = Beat(
        worker="runner-1",
        incarnation="i",
        kind="runner",
        host="h",
        engine=None,
        capacity=4,
        free=2,
        held=(ours, theirs),
        version="0",
    )
    fleet = FleetAnswer(workers=(WorkerView(beat=beat, silence=1.26),))

    async def answer(message: Msg) -> None:
        await message.respond(fleet.model_dump_json().encode())

    subscription = await bus.subscribe("fleet.list", cb=answer)
    await bus.flush()
    (runner,) = (await gateway.client.get("/api/v1/runners")).json()["runners"]
    await subscription.unsubscribe()
    assert (runner["worker"], runner["capacity"], runner["free"], runner["silence"]) == ("runner-1", 4, 2, 1.3)
    assert runner["held"] == [ours.model_dump()]
