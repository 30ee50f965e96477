"""A task that loads has a package that unpacks: both have the same limits."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.tasks import Limits, TaskInvalid, load_dataset, load_task, pack_task, task_digest, unpack_task

MakeTask = Callable[..., Path]

# The least task is 4 files in 2 folders.
CASES: list[tuple[dict[str, str], Limits, str | None]] = [
    # files of the task, the limits, what a refusal says
    ({}, Limits(entries=6), None),
    ({}, Limits(entries=5), "more than 5 files"),
    ({".gitignore": ""}, Limits(entries=7), None),
    ({".gitignore": ""}, Limits(entries=6), "more than 6 files"),
    ({"environment/deep/er/x": ""}, Limits(depth=4), None),
    ({"environment/deep/er/x": ""}, Limits(depth=3), "environment/deep/er/x: is more than 3 folders deep"),
    ({"tests/data": "x" * 500}, Limits(file_bytes=500), None),
    ({"tests/data": "x" * 501}, Limits(file_bytes=500), "tests/data: has 501 bytes"),
    ({"tests/data": "x" * 600, "tests/more": "x" * 600}, Limits(total_bytes=2000), None),
    ({"tests/data": "x" * 600, "tests/more": "x" * 600}, Limits(total_bytes=1200), "the task's files have"),
]


@pytest.mark.parametrize(("files", "limits", "said"), CASES)
def test_loading_and_unpacking_have_one_verdict(
    make_task: MakeTask, tmp_path: Path, files: dict[str, str], limits: Limits, said: str | None
) -> None:
    root = make_task(files=files)
    package = pack_task(root)
    if said is None:
        assert load_task(root, limits).path == root
        unpack_task(package, tmp_path / "out", digest=task_digest(root), limits=limits)
        return
    with pytest.raises(TaskInvalid, match=said):
        load_task(root, limits)
    with pytest.raises(TaskInvalid):
        unpack_task(package, tmp_path / "out", limits=limits)


def test_a_dataset_leaves_out_what_is_too_large_and_what_cannot_be_packed(make_task: MakeTask, tmp_path: Path) -> None:
    good = make_task("set/good")
    with (make_task("set/large") / "tests" / "data").open("wb") as sparse:
        sparse.truncate((1 << 30) + 1)
    linked = make_task("set/linked", {".gitignore": "left-out/\n", "environment/left-out/x": ""})
    (linked / "environment" / "again").symlink_to("left-out")
    dataset = load_dataset(tmp_path / "set")
    assert [one.task.path for one in dataset.tasks] == [good]
    reasons = {one.name: one.reason for one in dataset.refused}
    assert "tests/data" in reasons["large"]
    assert "environment/again" in reasons["linked"]
