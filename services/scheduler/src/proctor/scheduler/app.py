"""Wiring: the log, the fleet's subjects, the leadership."""

import asyncio
import logging
import os

from faststream.nats import NatsBroker

from proctor.contracts import subjects
from proctor.contracts.ids import short_id
from proctor.contracts.messages import (
    Beat,
    BeatAnswer,
    FleetAnswer,
    LeaseAnswer,
    LeaseOrder,
    LeaseRequest,
    SweepAnswer,
    SweepRequest,
)
from proctor.eventlog import EventLog, Leadership
from proctor.objects import Objects
from proctor.scheduler import orders
from proctor.scheduler.engine import Engine
from proctor.service.broker import answers, connection_of, open_broker
from proctor.service.process import report_health, run_until
from proctor.service.settings import Settings

logger = logging.getLogger(__name__)

LEASE_WAIT_SECONDS = 5.0


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    """Stand by until this process leads, then schedule until it is stopped or no longer leads."""
    broker = await open_broker(settings.nats_url, "scheduler", stop)
    connection = connection_of(broker)
    leadership = Leadership(connection, "scheduler", f"{settings.host}-{os.getpid()}-{short_id()}")
    try:
        await run_until(
            stop,
            _lead(broker, leadership),
            report_health(settings, lambda: answers(connection)),
        )
    finally:
        await leadership.release()
        await broker.stop()


async def _lead(broker: NatsBroker, leadership: Leadership) -> None:
    await leadership.acquired()
    connection = connection_of(broker)

    async def send(worker: str, order: LeaseOrder) -> None:
        await connection.publish(subjects.lease_order(worker), order.model_dump_json().encode())

    engine = Engine(EventLog(connection, "scheduler"), Objects(connection), send)
    await engine.load()
    _subscribe(broker, engine)
    await broker.start()
    logger.info("scheduling %d open runs", len(engine.tracks))
    await run_until(leadership.lost, engine.follow(), engine.decide(), leadership.keep())
    raise RuntimeError("another scheduler took over; starting again as its stand-by")


def _subscribe(broker: NatsBroker, engine: Engine) -> None:
    @broker.subscriber("beat.*", max_workers=16)
    async def beat(message: Beat) -> BeatAnswer:
        engine.heard(message)
        return orders.answer(message, {run: track.state for run, track in engine.tracks.items()})

    @broker.subscriber("lease.start.*", max_workers=64)
    async def lease(message: LeaseRequest) -> LeaseAnswer:
        if not await engine.passed(message.sequence, LEASE_WAIT_SECONDS):
            return LeaseAnswer(granted=False, reason="the claim isn't in the log yet")
        track = engine.tracks.get(message.held.run)
        return orders.lease(message, track.state if track else None)

    @broker.subscriber("lease.sweep.*")
    async def sweep(message: SweepRequest) -> SweepAnswer:
        return orders.swept(message, {run: track.state for run, track in engine.tracks.items()})

    @broker.subscriber("fleet.list")
    async def fleet() -> FleetAnswer:
        return FleetAnswer(workers=engine.fleet.view())

    _ = (beat, lease, sweep, fleet)
