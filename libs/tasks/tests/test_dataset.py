from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.tasks import (
    TaskInvalid,
    choose_dataset,
    dataset_digest,
    file_digest,
    load_dataset,
    local_task,
    pack_dataset,
    parse_dataset_toml,
    parse_registry,
    task_digest,
    unpack_dataset,
)

MakeTask = Callable[..., Path]
ONE = f"sha256:{'1' * 64}"


def _named(name: str) -> dict[str, str]:
    return {"task.toml": f"[task]\nname = '{name}'"}


def _manifest(root: Path, tasks: dict[str, str], extra: str = "") -> None:
    listed = "".join(f"[[tasks]]\nname = '{name}'\ndigest = '{digest}'\n" for name, digest in tasks.items())
    (root / "dataset.toml").write_text(f"[dataset]\nname = 'org/set'\nversion = '2'\n{listed}{extra}")


def test_a_folder_without_a_manifest_has_every_good_task_and_says_what_is_wrong_with_the_rest(
    make_task: MakeTask, tmp_path: Path
) -> None:
    good = make_task("set/good")
    make_task("set/broken", {"task.toml": "[agent"})
    make_task("set/zz/good")
    dataset = load_dataset(tmp_path / "set")
    assert (dataset.name, [item.task.name for item in dataset.tasks]) == ("set", ["good"])
    assert {item.path: item.reason.split(";")[0] for item in dataset.refused} == {
        "broken": "task.toml: not valid TOML: Expected ']' at the end of a table declaration (at end of document)",
        "zz/good": "a second task has the name 'good'",
    }
    assert dataset.digest == dataset_digest([task_digest(good)])


def test_a_manifest_pins_its_tasks(make_task: MakeTask, tmp_path: Path) -> None:
    first, changed = make_task("set/a", _named("org/a")), make_task("set/b", _named("org/b"))
    make_task("set/c", _named("org/unlisted"))
    _manifest(tmp_path / "set", {"org/b": ONE, "org/a": task_digest(first), "org/gone": ONE})
    dataset = load_dataset(tmp_path / "set")
    assert (dataset.name, dataset.version) == ("org/set", "2")
    assert [(item.task.name, item.digest) for item in dataset.tasks] == [("org/a", task_digest(first))]
    reasons = {item.name: item.reason for item in dataset.refused}
    assert set(reasons) == {"org/b", "org/gone"}
    assert task_digest(changed) in reasons["org/b"]
    assert ONE in reasons["org/b"]
    assert dataset.digest == dataset_digest([ONE, task_digest(first), ONE])


def test_files_of_a_dataset_are_verified_and_travel_with_it(make_task: MakeTask, tmp_path: Path) -> None:
    root = tmp_path / "set"
    digest = task_digest(make_task("set/a", _named("org/a")))
    (root / "metric.py").write_text("print(1)")
    pinned = f"[[files]]\npath = 'metric.py'\ndigest = '{file_digest(root / 'metric.py')}'\n"
    _manifest(root, {"org/a": digest}, pinned)
    dataset = load_dataset(root)
    assert dataset.digest == dataset_digest([digest], {"metric.py": file_digest(root / "metric.py")})
    assert load_dataset(unpack_dataset(pack_dataset(root), tmp_path / "out")).digest == dataset.digest
    (root / "metric.py").write_text("print(2)")
    with pytest.raises(TaskInvalid, match=r"metric\.py"):
        load_dataset(root)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", ["dataset", "add it"]),
        ("[dataset]\nname = 'set'", ["dataset.name", "org/name"]),
        ("[dataset]\nname='a/b'\n[[tasks]]\nname='a/c'", ["tasks[0].digest", "add it"]),
        ("[dataset]\nname='a/b'\n[[tasks]]\nname='a/c'\ndigest='latest'", ["tasks[0].digest", "sha256:"]),
        ("[dataset]\nname='a/b'\n[[files]]\npath='../x'", ["files[0].path", "beside dataset.toml"]),
        ("[dataset", ["dataset.toml", "not valid TOML"]),
    ],
)
def test_a_broken_manifest_is_refused_by_name(text: str, named: list[str]) -> None:
    with pytest.raises(TaskInvalid) as refused:
        parse_dataset_toml(text)
    for words in named:
        assert words in str(refused.value)


REGISTRY = """[
  {"name": "tb", "version": "1.9", "description": "", "tasks": [{"name": "a", "path": "tasks/a"}]},
  {"name": "tb", "version": "1.10", "description": "", "tasks": [{"name": "b", "git_url": "u", "path": "b"}],
   "metrics": [{"type": "mean"}]},
  {"name": "other", "version": "head", "description": "", "tasks": [{"name": "c", "path": "../c"}]}
]"""


def test_a_registry_gives_the_newest_version_unless_told(tmp_path: Path) -> None:
    registry = parse_registry(REGISTRY)
    assert choose_dataset(registry, "tb").version == "1.10"
    old = choose_dataset(registry, "tb", "1.9")
    assert local_task(old.tasks[0], tmp_path) == tmp_path / "tasks" / "a"
    for name, version in (("none", None), ("tb", "2")):
        with pytest.raises(TaskInvalid, match=version or name):
            choose_dataset(registry, name, version)


def test_a_registrys_paths_stay_beside_it(tmp_path: Path) -> None:
    registry = parse_registry(REGISTRY)
    for name, reason in (("other", "must stay below"), ("tb", "is in git")):
        with pytest.raises(TaskInvalid, match=reason):
            local_task(choose_dataset(registry, name).tasks[0], tmp_path)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", ["registry.json", "not valid JSON"]),
        ("{}", ["registry.json"]),
        ('[{"name": "a"}]', ["[0].version", "[0].tasks", "add it"]),
        ('[{"name": "a", "version": 1, "description": "", "tasks": []}]', ["[0].version", "in quotes"]),
    ],
)
def test_a_broken_registry_is_refused_by_name(text: str, named: list[str]) -> None:
    with pytest.raises(TaskInvalid) as refused:
        parse_registry(text)
    for words in named:
        assert words in str(refused.value)
