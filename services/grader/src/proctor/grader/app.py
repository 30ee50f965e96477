"""Wiring: the work queue, the beat, the orders."""

import asyncio
from functools import partial
from importlib.metadata import version

from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from nats.js.api import ConsumerConfig

from proctor.contracts import subjects
from proctor.contracts.events import GradeDispatched
from proctor.grader.grader import Grader
from proctor.grader.settings import GraderSettings
from proctor.objects import Objects
from proctor.service.broker import answers, connection_of, open_broker
from proctor.service.identity import claim_identity
from proctor.service.lease import Beats, hear_orders
from proctor.service.packages import Packages
from proctor.service.process import report_health, run_until


async def serve(settings: GraderSettings, stop: asyncio.Event) -> None:
    """Take gradings until stopped."""
    identity = claim_identity(settings.home, "grader", settings.grader_name, settings.host)
    broker = await open_broker(settings.nats_url, identity.worker, stop)
    connection = connection_of(broker)
    objects = Objects(connection)
    packages = Packages(settings.home / "cache" / "packages", objects)
    grader = Grader(identity, settings, connection, objects, packages)
    beats = Beats(connection, partial(grader.beat, version("proctor-grader"), settings.grader_pool), grader.heed)
    try:
        await hear_orders(connection, identity.worker, grader.ordered)
        await beats.once()
        _subscribe(broker, grader, settings.grader_pool)
        await broker.start()
        await run_until(stop, beats.keep(), report_health(settings, lambda: answers(connection)))
    finally:
        await grader.stop()
        await beats.once()
        await broker.stop()


def _subscribe(broker: NatsBroker, grader: Grader, pool: str) -> None:
    @broker.subscriber(
        subjects.work("grade", pool),
        stream=JStream(subjects.WORK_STREAM, declare=False),
        durable=subjects.work_consumer("grade", pool),
        pull_sub=PullSub(batch_size=1, timeout=5.0),
        config=ConsumerConfig(),
        ack_policy=AckPolicy.MANUAL,
    )
    async def work(event: GradeDispatched, message: NatsMessage) -> None:
        sequence = await grader.claim(event)
        await message.ack()
        grader.start(event.work, sequence)
        await grader.place()

    _ = work
