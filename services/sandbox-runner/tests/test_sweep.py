"""What earlier lives and dead neighbours left."""

import multiprocessing
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.events import AgentFinished, AttemptCleaned
from proctor.contracts.messages import Held
from proctor.eventlog import EventLog
from proctor.sandbox_runner import sweep
from proctor.sandbox_runner.journal import Journal
from proctor.service.identity import claim_identity

type MakeStage = Callable[..., Awaitable[Any]]


def held(workspace: str, run: str = "r1", epoch: int = 1) -> Held:
    return Held(workspace=workspace, run=run, attempt="0-0-1", epoch=epoch)


async def cleaned(bus: Client, one: Held) -> list[tuple[str, int]]:
    log = EventLog(bus, "test")
    records = [record async for record in log.read(subjects.run_events(one.workspace, one.run))]
    return [(record.writer, record.event.epoch) for record in records if isinstance(record.event, AttemptCleaned)]


def test_the_journal_survives_and_forgets(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "held")
    first, second = held("w", epoch=1), held("w", epoch=2)
    journal.add(first)
    journal.add(second)
    journal.remove(first)
    journal.remove(first)
    (tmp_path / "held" / "cut-short").write_text(first.model_dump_json()[:20])
    assert Journal(tmp_path / "held").entries() == [second]


async def test_a_runner_says_at_its_start_what_its_past_life_left(stage: Any, workspace: str, bus: Client) -> None:
    stage.outside.journal.add(held(workspace))
    await sweep.take_over(stage.runner, stage.outside)
    assert await cleaned(bus, held(workspace)) == [(stage.outside.worker, 1)]
    assert stage.outside.journal.entries() == []


def _die_holding(home: Path, workspace: str) -> None:
    identity = claim_identity(home, "runner", "dead", "here")
    Journal(identity.folder / "held").add(held(workspace))


async def test_the_journal_speaks_for_a_dead_runner_of_the_home(
    make_stage: MakeStage, make_task: Callable[..., Path], workspace: str, tmp_path: Path, bus: Client
) -> None:
    living, other = await make_stage(), await make_stage()
    work = await other.work(make_task())
    await other.take(work)
    await other.until(work, AgentFinished)
    process = multiprocessing.get_context("spawn").Process(target=_die_holding, args=(tmp_path / "home", workspace))
    process.start()
    process.join(20)
    await sweep._speak_for_the_dead(living.outside, tmp_path / "home")  # pyright: ignore[reportPrivateUsage]
    assert await cleaned(bus, held(workspace)) == [(living.outside.worker, 1)]
    assert Journal(tmp_path / "home" / "runner" / "dead-here" / "held").entries() == []
    assert [one.run for one in other.outside.journal.entries()] == [work.run]
    assert "cleaned" not in await other.types(work)
