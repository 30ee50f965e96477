import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.tasks import TaskInvalid, dataset_digest, environment_digest, load_task, task_digest

MakeTask = Callable[..., Path]


def _expected(root: Path, names: list[str]) -> str:
    """The published rule, by hand: sha256 over "path NUL sha256-of-bytes LF" of the files in path order."""
    lines = [f"{name}\0{hashlib.sha256((root / name).read_bytes()).hexdigest()}\n" for name in names]
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


LEAST = ["environment/Dockerfile", "instruction.md", "task.toml", "tests/test.sh"]


@pytest.mark.parametrize(
    ("files", "counted"),
    [
        ({}, []),
        ({"README.md": "r", "trajectory.json": "{}", "LICENSE": "l", "notes/a": "x"}, ["README.md", "trajectory.json"]),
        ({"tests/a.pyc": "x", "environment/__pycache__/b": "x", "solution/.DS_Store": "x"}, []),
        ({".gitignore": "*.log\n", "tests/a.pyc": "x", "tests/b.log": "y"}, ["tests/a.pyc"]),
        ({".gitignore": "*.log\n!keep.log\n", "tests/keep.log": "y"}, ["tests/keep.log"]),
        ({"tests/.harborignore": "*.md\n", "tests/a.md": "x", "environment/a.md": "x"}, ["environment/a.md"]),
        ({"environment/.harborignore": "*\n", "environment/a": "x"}, ["environment/a"]),
        ({"steps/s/tests/.harborignore": "x/\n", "steps/s/tests/x/y": "", "steps/s/x/y": ""}, ["steps/s/x/y"]),
        ({"tests/.harborignore": "x/*\n", "tests/x/.harborignore": "!y\n", "tests/x/y": "1"}, ["tests/x/y"]),
        (
            {"tests/.harborignore": "*.md\n", "tests/x/.harborignore": "*.log\n", "tests/x/a.md": "", "tests/x/b": ""},
            ["tests/x/b"],
        ),
        ({"environment/B": "", "environment/a": "", "environment/é": ""}, [f"environment/{n}" for n in "Baé"]),
    ],
)
def test_what_counts(make_task: MakeTask, files: dict[str, str], counted: list[str]) -> None:
    root = make_task(files=files)
    assert task_digest(root) == _expected(root, sorted([*LEAST, *counted]))


def test_a_link_counts_as_the_file_it_leads_to_and_a_linked_folder_doesnt_count(make_task: MakeTask) -> None:
    root = make_task(files={"environment/data/a": "1"})
    (root / "environment" / "b").symlink_to("data/a")
    (root / "environment" / "again").symlink_to("data")
    (root / "environment" / "gone").symlink_to("nothing")
    assert task_digest(root) == _expected(root, sorted([*LEAST, "environment/data/a", "environment/b"]))


def test_a_link_to_what_is_left_out_is_left_out(make_task: MakeTask) -> None:
    root = make_task(files={"tests/.harborignore": "secret\n", "tests/secret": "1"})
    (root / "tests" / "alias").symlink_to("secret")
    (root / "environment" / "alias").symlink_to("../tests/secret")
    assert task_digest(root) == _expected(root, LEAST)


def test_a_digest_reads_nothing_outside_the_task(make_task: MakeTask) -> None:
    root = make_task()
    (root / "environment" / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(TaskInvalid, match="environment/passwd"):
        task_digest(root)


@pytest.mark.parametrize(
    ("files", "same"),
    [
        ({"tests/test.sh": "changed", "instruction.md": "changed", "solution/x": "new"}, True),
        ({"task.toml": "[environment]\ncpus = 8\nmemory_mb = 64"}, True),
        ({"task.toml": "[environment]\ndocker_image = 'a:1'"}, False),
        ({"environment/Dockerfile": "FROM other"}, False),
        ({"environment/new": ""}, False),
    ],
)
def test_an_image_is_shared_by_tasks_with_the_same_environment(
    make_task: MakeTask, files: dict[str, str], same: bool
) -> None:
    first, second = load_task(make_task("first")), load_task(make_task("second", files))
    assert (environment_digest(first) == environment_digest(second)) == same


def test_an_executable_file_makes_another_image_but_the_same_task(make_task: MakeTask) -> None:
    first, second = make_task("first"), make_task("second")
    (second / "environment" / "Dockerfile").chmod(0o755)
    assert task_digest(first) == task_digest(second)
    assert environment_digest(load_task(first)) != environment_digest(load_task(second))


def test_a_dataset_digest_ignores_the_order_of_its_tasks() -> None:
    one, two = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
    expected = hashlib.sha256(f"{'1' * 64},{'2' * 64}".encode()).hexdigest()
    assert dataset_digest([two, one]) == dataset_digest([one, two]) == f"sha256:{expected}"
    assert dataset_digest([one, two], {"metric.py": one}) != f"sha256:{expected}"
