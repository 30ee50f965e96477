"""The streams of an installation. Only the operator's credential may run this."""

import asyncio
from typing import Any, cast

import nats.errors
from nats.aio.client import Client
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
    StreamSource,
    SubjectTransform,
)
from nats.js.errors import APIError, BucketNotFoundError, NoStreamResponseError, NotFoundError

from proctor.contracts import subjects

MAX_EVENT_BYTES = 256 * 1024
CLAIM_SECONDS = 30
"""How long a fetched work item waits for the ack that follows its claim before another worker gets it."""


async def ensure_streams(connection: Client, *, replicas: int = 1, pools: tuple[str, ...] = ("default",)) -> None:
    """Create what is missing; what is there is left as it is. Safe to run again and at once by several."""
    js = connection.jetstream(timeout=10)
    await _stream(
        connection,
        StreamConfig(
            name=subjects.EVENTS_STREAM,
            subjects=[subjects.EVENTS_ALL],
            retention=RetentionPolicy.LIMITS,
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_msg_size=MAX_EVENT_BYTES,
            allow_direct=True,
            num_replicas=replicas,
        ),
    )
    await _stream(
        connection,
        StreamConfig(
            name=subjects.WORK_STREAM,
            retention=RetentionPolicy.WORK_QUEUE,
            storage=StorageType.FILE,
            num_replicas=replicas,
            sources=[
                StreamSource(
                    name=subjects.EVENTS_STREAM,
                    subject_transforms=[SubjectTransform(src=source, dest=target)],
                )
                for source, target in subjects.WORK_SOURCES.items()
            ],
        ),
    )
    for pool in pools:
        for kind in ("attempt", "grade"):
            await ensure_work_consumer(connection, kind, pool)
    try:
        await js.object_store(subjects.OBJECT_BUCKET)
    except BucketNotFoundError:
        await js.create_object_store(subjects.OBJECT_BUCKET, storage=StorageType.FILE, replicas=replicas)
    try:
        await js.key_value(subjects.LEADER_BUCKET)
    except BucketNotFoundError:
        await js.create_key_value(
            KeyValueConfig(bucket=subjects.LEADER_BUCKET, ttl=10, storage=StorageType.FILE, replicas=replicas)
        )


async def _stream(connection: Client, config: StreamConfig) -> None:
    js = connection.jetstream(timeout=10)
    try:
        await js.stream_info(cast("str", config.name))
    except NotFoundError:
        await js.add_stream(config)


async def ensure_work_consumer(connection: Client, kind: str, pool: str) -> None:
    """The durable pull consumer that all workers of a pool share."""
    await connection.jetstream(timeout=10).add_consumer(
        subjects.WORK_STREAM,
        work_consumer_config(kind, pool),
    )


def work_consumer_config(kind: str, pool: str) -> ConsumerConfig:
    return ConsumerConfig(
        durable_name=subjects.work_consumer(kind, pool),
        filter_subject=subjects.work(kind, pool),
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=CLAIM_SECONDS,
        max_ack_pending=10_000,
        max_deliver=-1,
    )


async def open_runs(connection: Client) -> list[tuple[str, str]]:
    """(workspace, run) of every run without `run.cleaned`, from the stream's subject index alone."""
    submitted = await _subjects(connection, "ev.*.run.*.gateway.run.submitted")
    cleaned = await _subjects(connection, "ev.*.run.*.scheduler.run.cleaned")
    closed = {(subject.split(".")[1], subject.split(".")[3]) for subject in cleaned}
    opened = ((subject.split(".")[1], subject.split(".")[3]) for subject in submitted)
    return [run for run in opened if run not in closed]


async def _subjects(connection: Client, pattern: str) -> list[str]:
    info = await events_info(connection, pattern)
    return list(cast("dict[str, Any]", info.state.subjects or {}))


async def events_info(connection: Client, subjects_filter: str | None = None, *, patience: float = 60) -> StreamInfo:
    """The stream's state; a bus that has just come up may need a moment before it answers."""
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        try:
            js = connection.jetstream(timeout=10)
            return await js.stream_info(subjects.EVENTS_STREAM, subjects_filter=subjects_filter)
        except (nats.errors.Error, NoStreamResponseError, APIError, TimeoutError):
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.3)
