from pathlib import Path

import pytest

from proctor.sandbox_runner.sandbox.cgroup import Group, Limits

GIB = 1 << 30
V2 = {"memory.max": f"{GIB}", "memory.swap.max": "0", "pids.max": "64", "cpu.max": "150000 100000"}
V1 = {
    "memory.limit_in_bytes": f"{GIB}",
    "memory.memsw.limit_in_bytes": f"{GIB}",
    "pids.max": "64",
    "cpu.cfs_quota_us": "150000",
}


@pytest.mark.parametrize(("version", "files"), [(1, V1), (2, V2)])
def test_limits_in_the_kernels_words(tmp_path: Path, version: int, files: dict[str, str]) -> None:
    (tmp_path / "sandbox").mkdir()
    for name in files:
        (tmp_path / "sandbox" / name).touch()
    Group((tmp_path,), version).create("sandbox", Limits(memory=GIB, pids=64, cpus=1.5))
    assert {name: (tmp_path / "sandbox" / name).read_text() for name in files} == files


@pytest.mark.parametrize(
    ("file", "text", "kills"),
    [
        ("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", 2),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 1),
        ("memory.events", "oom 3\n", 0),
    ],
)
def test_oom_kills_of_either_version(tmp_path: Path, file: str, text: str, kills: int) -> None:
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / file).write_text(text)
    assert Group((tmp_path,), 2).find("sandbox").oom_kills() == kills
