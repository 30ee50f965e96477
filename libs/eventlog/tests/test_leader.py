"""One leads at a time; the next follows at once after a release, and by itself after a death."""

import asyncio
from typing import Protocol

import nats.errors
import pytest
from nats.aio.client import Client
from nats.js.api import KeyValueConfig

from proctor.contracts import subjects
from proctor.eventlog import Leadership, connect


class Server(Protocol):
    url: str


@pytest.fixture
async def brief(own: Client) -> Client:
    """The same server with a key that lives 1 s, so that a death is noticed soon."""
    js = own.jetstream()
    await js.delete_key_value(subjects.LEADER_BUCKET)
    await js.create_key_value(KeyValueConfig(bucket=subjects.LEADER_BUCKET, ttl=1))
    return own


async def test_the_second_waits_until_the_first_lets_go(own: Client) -> None:
    first, second = Leadership(own, "scheduler", "a"), Leadership(own, "scheduler", "b")
    other = Leadership(own, "registry-sync", "c")
    await asyncio.wait_for(first.acquired(), 5)
    await asyncio.wait_for(other.acquired(), 5)
    waiting = asyncio.create_task(second.acquired())
    await asyncio.sleep(0.7)
    assert not waiting.done()
    await first.release()
    await asyncio.wait_for(waiting, 5)
    await first.release()
    third = asyncio.create_task(Leadership(own, "scheduler", "d").acquired())
    await asyncio.sleep(0.7)
    assert not third.done(), "one who no longer leads frees nothing"
    third.cancel()


async def test_the_dead_are_followed_after_the_keys_life(brief: Client) -> None:
    await Leadership(brief, "scheduler", "a").acquired()
    began = asyncio.get_running_loop().time()
    await asyncio.wait_for(Leadership(brief, "scheduler", "b").acquired(), 10)
    assert asyncio.get_running_loop().time() - began > 0.5


async def test_the_living_keep_it_and_the_overtaken_know(brief: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.eventlog.leader.RENEW_SECONDS", 0.2)
    first, second = Leadership(brief, "scheduler", "a"), Leadership(brief, "scheduler", "b")
    await first.acquired()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.acquired())
    await asyncio.sleep(1.6)
    assert not waiting.done()
    assert not first.lost.is_set()
    bucket = await brief.jetstream().key_value(subjects.LEADER_BUCKET)
    await bucket.put("scheduler", b"intruder")
    await asyncio.wait_for(first.lost.wait(), 5)
    await asyncio.wait_for(keeping, 1)
    await asyncio.wait_for(waiting, 5)


async def test_a_key_that_expired_meanwhile_is_taken_again(brief: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.eventlog.leader.RENEW_SECONDS", 1.5)
    leadership = Leadership(brief, "scheduler", "a")
    await leadership.acquired()
    keeping = asyncio.create_task(leadership.keep())
    await asyncio.sleep(2)
    assert not leadership.lost.is_set()
    keeping.cancel()


async def test_a_bus_that_is_away_ends_it(nats_server: Server, own: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.eventlog.leader.RENEW_SECONDS", 0.1)
    connection = await connect(nats_server.url, "leader")
    leadership = Leadership(connection, "scheduler", "a")
    await leadership.acquired()
    await connection.close()
    await asyncio.wait_for(leadership.keep(), 10)
    assert leadership.lost.is_set()
    await leadership.release()


async def test_without_waiting_an_absent_server_is_an_error_at_once(unused_tcp_port: int) -> None:
    with pytest.raises(nats.errors.NoServersError):
        await asyncio.wait_for(connect(f"nats://127.0.0.1:{unused_tcp_port}", "test", wait=False), 5)
