"""Wiring: the work queue, the beat, the orders, the sweep."""

import asyncio
import logging
from functools import partial
from importlib.metadata import version

from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from nats.js.api import ConsumerConfig

from proctor.contracts import subjects
from proctor.contracts.events import AttemptDispatched
from proctor.sandbox_runner import sweep
from proctor.sandbox_runner.backends import open_backends
from proctor.sandbox_runner.outside import Outside
from proctor.sandbox_runner.runner import Runner
from proctor.sandbox_runner.settings import RunnerSettings
from proctor.service.broker import answers, connection_of, open_broker
from proctor.service.identity import claim_identity
from proctor.service.lease import Beats, hear_orders
from proctor.service.process import report_health, run_until

logger = logging.getLogger(__name__)


async def serve(settings: RunnerSettings, stop: asyncio.Event) -> None:
    """Take attempts until stopped; then hand back what is under way."""
    identity = claim_identity(settings.home, "runner", settings.runner_name, settings.host)
    backends = await open_backends(
        settings.backend, installation=settings.installation, host=settings.host, folder=identity.folder
    )
    broker = await open_broker(settings.nats_url, identity.worker, stop)
    connection = connection_of(broker)
    outside = Outside(connection, identity, settings.home, backends)
    runner = Runner(identity, settings.host, settings.runner_capacity, outside)
    made = partial(runner.beat, version("proctor-sandbox-runner"), settings.runner_pool)
    beats = Beats(connection, made, runner.heed)
    try:
        await sweep.take_over(runner, outside)
        await hear_orders(connection, identity.worker, runner.ordered)
        await beats.once()
        _subscribe(broker, runner, settings.runner_pool)
        logger.info("connected to the bus as %s, room for %d attempts", identity.worker, runner.capacity)
        await run_until(
            stop,
            _take_work(broker, runner),
            beats.keep(),
            sweep.keep_swept(runner, outside, settings.home),
            report_health(settings, lambda: answers(connection)),
        )
    finally:
        await runner.drain()
        for subscriber in broker.subscribers:
            await subscriber.stop()
        await runner.stop()
        await beats.once()
        await broker.stop()
        await backends.close()


async def _take_work(broker: NatsBroker, runner: Runner) -> None:
    """Those adopted may have taken every place."""
    await runner.place()
    await broker.start()
    await asyncio.Event().wait()


def _subscribe(broker: NatsBroker, runner: Runner, pool: str) -> None:
    @broker.subscriber(
        subjects.work("attempt", pool),
        stream=JStream(subjects.WORK_STREAM, declare=False),
        durable=subjects.work_consumer("attempt", pool),
        pull_sub=PullSub(batch_size=1, timeout=5.0),
        config=ConsumerConfig(),
        ack_policy=AckPolicy.MANUAL,
    )
    async def work(event: AttemptDispatched, message: NatsMessage) -> None:
        if runner.draining:
            await message.nack()
            return
        one = await runner.claim(event)
        await message.ack()
        if one is not None:
            await runner.start(one)
        # the next item is fetched only when there is a place for it
        await runner.place()

    _ = work
