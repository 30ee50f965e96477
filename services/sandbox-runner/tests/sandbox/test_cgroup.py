from pathlib import Path

import pytest

from proctor.sandbox_runner.sandbox import cgroup
from proctor.sandbox_runner.sandbox.cgroup import Cgroup, Group, Limits

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


@pytest.mark.parametrize(
    ("files", "usage"),
    [
        ({"cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "memory.peak": "4096\n"}, (1.5, 4096)),
        ({"cpuacct.usage": "2500000000\n", "memory.max_usage_in_bytes": "8192\n"}, (2.5, 8192)),
        # version 1 has a file of that name with other numbers in it
        ({"cpu.stat": "nr_periods 3\nthrottled_time 7\n", "cpuacct.usage": "1000000000\n"}, (1.0, None)),
        # a kernel before 5.19
        ({"cpu.stat": "usage_usec 0\n"}, (0.0, None)),
        ({}, (None, None)),
    ],
)
def test_usage_of_either_version(tmp_path: Path, files: dict[str, str], usage: tuple[float | None, int | None]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert Cgroup((tmp_path / "gone", tmp_path)).usage() == usage


@pytest.mark.parametrize(
    "folders",
    [
        ["cpuacct/docker/c0ffee", "memory/docker/c0ffee"],
        ["cpuacct/system.slice/docker-c0ffee.scope", "memory/system.slice/docker-c0ffee.scope"],
        ["docker/c0ffee"],
        ["system.slice/docker-c0ffee.scope"],
    ],
)
def test_where_an_engine_puts_a_container(tmp_path: Path, folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    found = cgroup.of_container("c0ffee")
    assert found is not None
    assert {str(folder.relative_to(tmp_path)) for folder in found.folders} == set(folders)
    assert cgroup.of_container("decaf") is None
