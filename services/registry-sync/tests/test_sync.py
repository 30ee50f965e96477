"""One sync: what is said, what is stored, and what a bad source is told."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from nats.aio.client import Client

from proctor.contracts.events import Synced, SyncFailed, SyncStarted
from proctor.contracts.events.benchmark import BundledSource, Source, UploadSource
from proctor.contracts.folds.benchmark import BenchmarkState
from proctor.contracts.manifest import Manifest
from proctor.objects import Objects
from proctor.registry_sync import bundled
from proctor.registry_sync.syncing import PAGE, sync
from proctor.tasks import load_dataset, pack_dataset, task_digest, unpack_task


async def events_of(bus: Client, source: Source) -> list[Any]:
    state = BenchmarkState("w", "b", source=source, sync="s1")
    with TemporaryDirectory() as scratch:
        found = [event async for event in sync(state, Objects(bus), Path(scratch))]
        assert not list(Path(scratch).iterdir()), "nothing stays of a sync, however it ended"
    return found


async def upload(bus: Client, data: bytes) -> UploadSource:
    return UploadSource(object=await Objects(bus).put_once("upload", data), origin="mine")


def tarred(root: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(root, root.name)
    return buffer.getvalue()


async def manifest_of(bus: Client, synced: Synced) -> Manifest:
    return Manifest.model_validate_json(await Objects(bus).get(synced.manifest))


async def test_first_steps_is_synced_whole(bus: Client, tmp_path: Path) -> None:
    root = bundled.folder("first-steps")
    folders = {path.parent.name: path.parent for path in root.glob("*/task.toml")}
    started, *pages, synced = await events_of(bus, BundledSource(name="first-steps"))
    assert started == SyncStarted(sync="s1", total=len(folders))
    assert [(page.page, page.synced, page.total) for page in pages] == [(0, len(folders), len(folders))]
    assert isinstance(synced, Synced)
    assert (synced.sync, synced.tasks, synced.unavailable) == ("s1", len(folders), 0)
    manifest = await manifest_of(bus, synced)
    assert synced.version == manifest.version == load_dataset(root).digest
    assert synced.categories == len({task.category for task in manifest.tasks})
    assert [task.name for task in manifest.tasks] == sorted(task.name for task in manifest.tasks)
    for number, task in enumerate(manifest.tasks):
        unpack_task(await Objects(bus).get(task.package), tmp_path / str(number), digest=task.digest)
        assert task_digest(folders[task.name.split("/")[-1]]) == task.digest
    assert manifest.task_sets
    assert all(set(one.task_names) <= {task.name for task in manifest.tasks} for one in manifest.task_sets)


async def test_the_announcement_says_what_is_published() -> None:
    added = bundled.announcement("first-steps")
    assert (added.benchmark, added.key, added.managed, added.added_by) == (
        "first-steps",
        "first-steps",
        True,
        "proctor",
    )
    assert added.description


async def test_one_bad_task_never_harms_its_siblings(bus: Client, make_dataset: Callable[..., Path]) -> None:
    bad: dict[str, str | bytes | None] = {
        "broken/task.toml": "[metadata\n",
        "silent/instruction.md": None,
        "untested/tests/test.sh": None,
        "binary/task.toml": b"\xff\xfe",
        "wrong/task.toml": '[agent]\ntimeout_sec = "soon"\n',
        "endless/task.toml": "[verifier]\ntimeout_sec = nan\n",
        "deep/environment/" + "d/" * 31 + "f": "",
        "notes/README.md": "not a task\n",
    }
    names = ("good", "better", "broken", "silent", "untested", "binary", "wrong", "endless", "deep")
    root = make_dataset(*names, files=bad)
    *_, synced = await events_of(bus, await upload(bus, tarred(root)))
    assert isinstance(synced, Synced)
    manifest = await manifest_of(bus, synced)
    assert [task.name for task in manifest.tasks] == ["better", "good"]
    reasons = {one.name: one.reason for one in manifest.unavailable}
    assert set(reasons) == {"broken", "silent", "untested", "binary", "wrong", "endless", "deep"}
    assert "task.toml" in reasons["broken"]
    assert "instruction.md" in reasons["silent"]
    assert "test.sh" in reasons["untested"]
    assert "timeout_sec" in reasons["wrong"]
    assert "verifier.timeout_sec" in reasons["endless"]
    assert "32 folders deep" in reasons["deep"]
    assert (synced.tasks, synced.unavailable) == (2, 7)


async def test_equal_content_is_the_same_version_and_other_content_another(
    bus: Client, make_dataset: Callable[..., Path]
) -> None:
    async def version(root: Path) -> str:
        *_, synced = await events_of(bus, await upload(bus, tarred(root)))
        assert isinstance(synced, Synced)
        return synced.version

    first = await version(make_dataset("a", "b"))
    assert await version(make_dataset("a", "b", folder="copy")) == first
    changed = await version(make_dataset("a", "b", files={"a/instruction.md": "Say goodbye.\n"}, folder="changed"))
    assert changed != first
    assert await version(make_dataset("a", "b", "c", folder="more")) not in {first, changed}


async def test_packed_by_the_client_or_by_tar_is_the_same(bus: Client, make_dataset: Callable[..., Path]) -> None:
    root = make_dataset("a", "b")
    *_, one = await events_of(bus, await upload(bus, tarred(root)))
    *_, two = await events_of(bus, await upload(bus, pack_dataset(root)))
    assert one == two


async def test_a_long_list_comes_in_pages(bus: Client, make_dataset: Callable[..., Path]) -> None:
    count = PAGE + 3
    root = make_dataset(*(f"t{number:03}" for number in range(count)))
    started, *pages, synced = await events_of(bus, await upload(bus, tarred(root)))
    assert started.total == count
    assert [(page.page, page.synced) for page in pages] == [(0, PAGE), (1, count)]
    assert synced.tasks == count


def hostile() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("../../escaped")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    return buffer.getvalue()


BAD_FILES: dict[str, dict[str, str | bytes | None]] = {
    "dataset.toml": {"dataset.toml": "[dataset\n"},
    "dataset.toml: dataset": {"dataset.toml": "x = 1\n"},
    "UTF-8": {"dataset.toml": b"\xff"},
    "sets.toml": {"sets.toml": "[[task_sets\n"},
    "sets.toml: task_sets": {"sets.toml": '[[task_sets]]\nname = "quick"\n'},
    "sets.toml: not": {"sets.toml": b"\xff"},
}


@pytest.mark.parametrize(("said", "files"), BAD_FILES.items())
async def test_a_source_that_cannot_be_read_fails_and_names_the_file(
    bus: Client, make_dataset: Callable[..., Path], said: str, files: dict[str, str | bytes | None]
) -> None:
    *_, failed = await events_of(bus, await upload(bus, tarred(make_dataset("a", files=files))))
    assert isinstance(failed, SyncFailed)
    assert said in failed.reason


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "archive"),
        (b"PK\x03\x04", "archive"),
        (tarred(Path(__file__)), "no folder with a task.toml"),
        (hostile(), "leaves the package"),
    ],
    ids=["empty", "zip", "no-task", "hostile"],
)
async def test_an_upload_that_is_no_dataset_fails_with_its_reason(bus: Client, data: bytes, said: str) -> None:
    (failed,) = await events_of(bus, await upload(bus, data))
    assert isinstance(failed, SyncFailed)
    assert said in failed.reason


async def test_nothing_but_bad_tasks_is_a_failure_that_tells_of_them(
    bus: Client, make_dataset: Callable[..., Path]
) -> None:
    root = make_dataset("a", "b", files={"a/task.toml": "[x\n", "b/instruction.md": None})
    (failed,) = await events_of(bus, await upload(bus, tarred(root)))
    assert isinstance(failed, SyncFailed)
    assert "a:" in failed.reason
    assert "instruction.md" in failed.reason


async def test_an_upload_that_is_gone_asks_for_another(bus: Client) -> None:
    (failed,) = await events_of(bus, UploadSource(object="upload/none", origin="mine"))
    assert isinstance(failed, SyncFailed)
    assert "upload it again" in failed.reason


async def test_an_unknown_bundle_fails(bus: Client) -> None:
    (failed,) = await events_of(bus, BundledSource(name="no-such-bundle"))
    assert isinstance(failed, SyncFailed)


async def test_a_set_with_a_missing_task_is_left_out(bus: Client, make_dataset: Callable[..., Path]) -> None:
    sets = '[[task_sets]]\nname = "one"\ntasks = ["a"]\n[[task_sets]]\nname = "two"\ntasks = ["a", "z"]\n'
    *_, synced = await events_of(bus, await upload(bus, tarred(make_dataset("a", files={"sets.toml": sets}))))
    assert isinstance(synced, Synced)
    assert [one.name for one in (await manifest_of(bus, synced)).task_sets] == ["one"]


async def test_the_manifest_has_what_a_plan_needs(bus: Client, make_dataset: Callable[..., Path]) -> None:
    toml = (
        'multi_step_reward_strategy = "final"\n[metadata]\ncategory = "text"\ndifficulty = "hard"\ntags = ["x"]\n'
        "[agent]\ntimeout_sec = 10\n[verifier]\ntimeout_sec = 20\n[environment]\nbuild_timeout_sec = 30\n"
        '[[steps]]\nname = "one"\nmin_reward = 0.5\n[[steps]]\nname = "two"\n[steps.agent]\ntimeout_sec = 40\n'
    )
    files: dict[str, str | bytes | None] = {
        "a/task.toml": toml,
        "a/instruction.md": None,
        "a/steps/one/instruction.md": "Begin.\n",
        "a/steps/two/instruction.md": "End.\n",
    }
    *_, synced = await events_of(bus, await upload(bus, tarred(make_dataset("a", files=files))))
    (task,) = (await manifest_of(bus, synced)).tasks
    wanted = {
        "category": "text",
        "difficulty": "hard",
        "tags": ("x",),
        "agent_timeout": 40.0,
        "verifier_timeout": 600.0,
        "build_timeout": 30.0,
        "steps": 2,
        "multi_step_strategy": "final",
        "min_rewards": (0.5, None),
        "verifier_mode": "shared",
    }
    assert task.model_dump(include=set(wanted)) == wanted


@pytest.mark.parametrize(
    ("own", "first", "second", "longest"),
    [(10, None, 40, 40), (10, None, 5, 10), (None, 7, 40, 40), (None, None, 40, None), (10, None, None, 10)],
)
async def test_the_agents_limit_is_that_of_its_longest_step(
    bus: Client,
    make_dataset: Callable[..., Path],
    own: float | None,
    first: float | None,
    second: float | None,
    longest: float | None,
) -> None:
    def agent(table: str, seconds: float | None) -> str:
        return "" if seconds is None else f"[{table}]\ntimeout_sec = {seconds}\n"

    steps = (f'[[steps]]\nname = "s{n}"\n{agent("steps.agent", limit)}' for n, limit in enumerate((first, second)))
    files: dict[str, str | bytes | None] = {
        "a/task.toml": agent("agent", own) + "".join(steps),
        "a/instruction.md": None,
        "a/steps/s0/instruction.md": "Begin.\n",
        "a/steps/s1/instruction.md": "End.\n",
    }
    *_, synced = await events_of(bus, await upload(bus, tarred(make_dataset("a", files=files))))
    (task,) = (await manifest_of(bus, synced)).tasks
    assert task.agent_timeout == longest
