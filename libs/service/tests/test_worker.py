"""What workers share: their identity, their lease, their beats, the vault, task packages."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from proctor.contracts import subjects
from proctor.contracts.messages import Beat, BeatAnswer, Held, LeaseAnswer, LeaseOrder, LeaseRequest, VaultRequest
from proctor.contracts.work import TaskRef
from proctor.objects import Objects
from proctor.service.identity import NameTakenError, claim_identity
from proctor.service.lease import Beats, ask_lease, hear_orders
from proctor.service.packages import PackageError, Packages
from proctor.service.vault import ask_values
from proctor.tasks import pack_task, task_digest

HELD = Held(workspace="w", run="r", attempt="0-0-1", epoch=1)


def lease_request(worker: str) -> LeaseRequest:
    return LeaseRequest(held=HELD, kind="attempt", worker=worker, incarnation="i", sequence=7)


def replies(*answers: str) -> tuple[Callable[[Msg], Any], list[bytes]]:
    """A responder that gives these answers in turn, the last one again, and what it was asked."""
    asked: list[bytes] = []

    async def respond(message: Msg) -> None:
        asked.append(message.data)
        await message.respond(answers[min(len(asked), len(answers)) - 1].encode())

    return respond, asked


@pytest.mark.parametrize("granted", [True, False])
async def test_a_lease_is_what_the_scheduler_says(bus: Client, workspace: str, granted: bool) -> None:
    respond, asked = replies(LeaseAnswer(granted=granted, reason="so").model_dump_json())
    await bus.subscribe(subjects.lease_start(workspace), cb=respond)
    answer = await ask_lease(bus, lease_request(workspace))
    assert (answer.granted, answer.reason) == (granted, "so")
    assert LeaseRequest.model_validate_json(asked[0]) == lease_request(workspace)


async def test_a_scheduler_that_comes_late_is_asked_again(bus: Client, workspace: str) -> None:
    asking = asyncio.create_task(ask_lease(bus, lease_request(workspace)))
    await asyncio.sleep(0.5)
    assert not asking.done()
    respond, _ = replies(LeaseAnswer(granted=True).model_dump_json())
    await bus.subscribe(subjects.lease_start(workspace), cb=respond)
    assert (await asyncio.wait_for(asking, 5)).granted


async def test_a_scheduler_that_never_answers_is_a_no(
    bus: Client, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.service.lease.LEASE_SECONDS", 0.5)
    answer = await asyncio.wait_for(ask_lease(bus, lease_request(workspace)), 5)
    assert (answer.granted, answer.reason) == (False, "the scheduler doesn't answer")


def beats(bus: Client, worker: str, heeded: list[BeatAnswer]) -> Beats:
    def make() -> Beat:
        return Beat(worker=worker, incarnation="i", kind="runner", host="h", capacity=1, free=1, version="0")

    return Beats(bus, make, heeded.append)


async def test_a_beat_is_heard_and_its_answer_heeded(bus: Client, workspace: str) -> None:
    heeded: list[BeatAnswer] = []
    assert not await beats(bus, workspace, heeded).once()
    assert heeded == []
    answer = BeatAnswer(over=(HELD,))
    respond, asked = replies(answer.model_dump_json())
    await bus.subscribe(subjects.beat(workspace), cb=respond)
    assert await beats(bus, workspace, heeded).once()
    assert heeded == [answer]
    assert Beat.model_validate_json(asked[0]).worker == workspace


async def test_an_unheard_worker_beats_until_it_is_heard(bus: Client, workspace: str) -> None:
    heeded: list[BeatAnswer] = []
    keeping = asyncio.create_task(beats(bus, workspace, heeded).keep())
    await asyncio.sleep(0.2)
    respond, _ = replies(BeatAnswer().model_dump_json())
    await bus.subscribe(subjects.beat(workspace), cb=respond)
    async with asyncio.timeout(3):
        while not heeded:
            await asyncio.sleep(0.02)
    keeping.cancel()


async def test_orders_reach_their_worker_alone(bus: Client, workspace: str) -> None:
    heard: list[LeaseOrder] = []
    await hear_orders(bus, workspace, heard.append)
    mine, other = LeaseOrder(held=HELD, step=2), LeaseOrder(held=HELD)
    await bus.publish(subjects.lease_order(f"{workspace}-2"), other.model_dump_json().encode())
    await bus.publish(subjects.lease_order(workspace), mine.model_dump_json().encode())
    async with asyncio.timeout(3):
        while not heard:
            await asyncio.sleep(0.01)
    assert heard == [mine]


async def test_values_come_from_the_vault_or_its_reason_does(
    bus: Client, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = VaultRequest(held=HELD, worker=workspace)
    respond, _ = replies('{"values":{"KEY":"v"},"variables":{"URL":"u"}}', '{"error":"secret KEY isn\'t set"}', "{}")
    subscription = await bus.subscribe(subjects.vault_resolve(workspace), cb=respond)
    assert await ask_values(bus, request) == ({"KEY": "v"}, {"KEY": "v", "URL": "u"})
    with pytest.raises(LookupError, match="secret KEY isn't set"):
        await ask_values(bus, request)
    with pytest.raises(LookupError, match="no values"):
        await ask_values(bus, request)
    await subscription.unsubscribe()
    monkeypatch.setattr("proctor.service.vault.VAULT_SECONDS", 0.3)
    with pytest.raises(TimeoutError):
        await ask_values(bus, request)


def test_a_name_belongs_to_one_process_and_survives_it(tmp_path: Path) -> None:
    first = claim_identity(tmp_path, "runner", "runner 1", "box.local")
    assert first.worker == "runner-1-box-local"
    assert first.folder.is_dir()
    with pytest.raises(NameTakenError, match="another --name"):
        claim_identity(tmp_path, "runner", "runner 1", "box.local")
    other = claim_identity(tmp_path, "runner", "runner 2", "box.local")
    same_name = claim_identity(tmp_path, "grader", "runner 1", "box.local")
    assert other.worker != first.worker
    assert same_name.folder != first.folder
    first.lock.close()
    again = claim_identity(tmp_path, "runner", "runner 1", "box.local")
    assert (again.worker, again.folder) == (first.worker, first.folder)
    assert again.incarnation != first.incarnation


@pytest.fixture
def task(tmp_path: Path) -> Path:
    root = tmp_path / "hello"
    for path, text in {
        "task.toml": "",
        "instruction.md": "Say hello.\n",
        "environment/Dockerfile": "FROM debian:bookworm-slim\n",
        "tests/test.sh": "exit 0\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def reference(task: Path, package: str) -> TaskRef:
    return TaskRef(name="hello", digest=task_digest(task), package=package)


async def test_a_package_is_fetched_once(bus: Client, tmp_path: Path, task: Path, workspace: str) -> None:
    objects = Objects(bus)
    wanted = reference(task, await objects.put(workspace, pack_task(task)))
    packages = Packages(tmp_path / "cache", objects)
    loaded = await asyncio.gather(*(packages.load(wanted) for _ in range(5)))
    assert {one.name for one in loaded} == {"hello"} or all(one is loaded[0] for one in loaded)
    assert task_digest(loaded[0].path) == wanted.digest
    await objects.delete(workspace)
    assert (await Packages(tmp_path / "cache", objects).load(wanted)).path == loaded[0].path, "a restart finds it"


async def test_a_package_that_failed_is_tried_again(bus: Client, tmp_path: Path, task: Path, workspace: str) -> None:
    objects = Objects(bus)
    wanted = reference(task, workspace)
    packages = Packages(tmp_path / "cache", objects)
    with pytest.raises(PackageError) as missing:
        await packages.load(wanted)
    await objects.put(workspace, b"no archive")
    with pytest.raises(PackageError) as corrupt:
        await packages.load(wanted)
    assert [error.value.kind for error in (missing, corrupt)] == ["package_missing", "package_corrupt"]
    await objects.put(workspace, pack_task(task))
    assert (await packages.load(wanted)).path.is_dir()


async def test_a_package_of_other_content_is_refused(bus: Client, tmp_path: Path, task: Path, workspace: str) -> None:
    objects = Objects(bus)
    await objects.put(workspace, pack_task(task))
    wanted = TaskRef(name="hello", digest="sha256:" + "0" * 64, package=workspace)
    with pytest.raises(PackageError) as caught:
        await Packages(tmp_path / "cache", objects).load(wanted)
    assert caught.value.kind == "package_corrupt"
    assert list((tmp_path / "cache").iterdir()) == [], "nothing is left behind"
