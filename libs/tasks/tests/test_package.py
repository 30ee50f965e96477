import gzip
import io
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.tasks import (
    Limits,
    TaskInvalid,
    load_dataset,
    pack_dataset,
    pack_task,
    task_digest,
    unpack_dataset,
    unpack_task,
)

MakeTask = Callable[..., Path]
Member = tuple[tarfile.TarInfo, bytes]


def _file(name: str, content: bytes = b"") -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def _special(name: str, kind: bytes, target: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def _tar_gz(*members: Member) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


CONFIG = _file("task.toml")


def test_a_package_gives_the_same_task_again(make_task: MakeTask, tmp_path: Path) -> None:
    root = make_task(
        files={
            ".gitignore": "*.log\n",
            "environment/a.log": "left out",
            "environment/kept.pyc": "kept, as .gitignore says",
            "environment/data/a": "1",
            "tests/.harborignore": "secret\n",
            "tests/secret": "left out",
            "LICENSE": "left out",
        }
    )
    (root / "environment" / "empty").mkdir()
    (root / "environment" / "again").symlink_to("data")
    (root / "environment" / "copy").symlink_to("data/a")
    (root / "tests" / "test.sh").chmod(0o750)
    unpack_task(pack_task(root), tmp_path / "out", digest=task_digest(root))
    out = tmp_path / "out"
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir()}
    assert names == {
        *(".gitignore", "task.toml", "instruction.md", "tests/test.sh"),
        *("environment/Dockerfile", "environment/kept.pyc", "environment/data/a", "environment/copy"),
    }
    assert (out / "environment" / "empty").is_dir()
    assert (out / "environment" / "again").readlink() == Path("data")
    assert stat.S_IMODE((out / "tests" / "test.sh").stat().st_mode) == 0o755
    assert pack_task(out) == pack_task(root)


def test_packing_doesnt_depend_on_times_owners_or_order(make_task: MakeTask) -> None:
    first = make_task("first", {"solution/a": "1", "solution/b": "2"})
    second = make_task("second", {"solution/b": "2", "solution/a": "1"})
    (second / "solution" / "a").touch()
    (second / "solution" / "a").chmod(0o600)
    assert pack_task(first) == pack_task(second)


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\\u2028\u2029"), min_size=1
).filter(lambda name: name not in {".", ".."} and len(name.encode()) < 100)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.binary(max_size=600), max_size=5))
def test_any_files_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    root = tmp_path_factory.mktemp("task")
    (root / "task.toml").write_text("")
    for name, content in files.items():
        path = root / "environment" / name
        if any(parent.is_file() for parent in path.parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    unpack_task(pack_task(root), root / "out", digest=task_digest(root))
    assert pack_task(root / "out") == pack_task(root)


HOSTILE = [
    (_tar_gz(_file("instruction.md")), "no task.toml"),
    (_tar_gz(CONFIG, _file("/etc/cron.d/x")), "leaves the package"),
    (_tar_gz(CONFIG, _file("../x")), "leaves the package"),
    (_tar_gz(CONFIG, _file("a/../../x")), "leaves the package"),
    (_tar_gz(CONFIG, _file("a\\..\\x")), "backslash"),
    (_tar_gz(CONFIG, _file("a\nb")), "control characters"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "/etc")), "link that leaves"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "../x")), "link that leaves"),
    (_tar_gz(CONFIG, _special("d/a", tarfile.SYMTYPE, "../../x")), "link that leaves"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "d"), _file("a/b", b"x")), "isn't a folder"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "b/.."), _special("b", tarfile.SYMTYPE, "..")), "leaves"),
    (
        _tar_gz(CONFIG, _special("a/b/u", tarfile.SYMTYPE, "../.."), _special("v", tarfile.SYMTYPE, "a/b/u/../x")),
        "leaves",
    ),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "")), "link to nothing"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "x\ny")), "link to nothing"),
    (_tar_gz(CONFIG, _special("a", tarfile.SYMTYPE, "x" * 300)), "link to nothing"),
    (_tar_gz(CONFIG, _special("a", tarfile.LNKTYPE, "task.toml")), "hard link"),
    (_tar_gz(CONFIG, _special("a", tarfile.CHRTYPE)), "device"),
    (_tar_gz(CONFIG, _special("a", tarfile.BLKTYPE)), "device"),
    (_tar_gz(CONFIG, _special("a", tarfile.FIFOTYPE)), "pipe"),
    (_tar_gz(CONFIG, _special("a", tarfile.GNUTYPE_SPARSE)), "sparse"),
    (_tar_gz(CONFIG, _file("a", b"1"), _file("a", b"2")), "twice"),
    (_tar_gz(CONFIG, _file("a", b"1"), _file("./a", b"2")), "twice"),
    (_tar_gz(CONFIG, _file("a", b"1"), _file("a/b", b"2")), "isn't a folder"),
    (_tar_gz(CONFIG, _file("a/b", b"1"), _file("a", b"2")), "twice"),
    (_tar_gz(CONFIG, _file("/".join("a" * 40))), "deep"),
    (_tar_gz(CONFIG, *(_file(f"f{n}") for n in range(30))), "more than 20 entries"),
    (_tar_gz(CONFIG, _file("a", bytes(2000))), "too large"),
    (_tar_gz(CONFIG, *(_file(f"f{n}", bytes(900)) for n in range(6))), "too large"),
    (gzip.compress(bytes(1 << 22)), "no task.toml"),
    (b"", "tar.gz"),
    (b"PK\x03\x04", "tar.gz"),
    (_tar_gz(CONFIG, _file("a", b"x" * 900))[:-40], "tar.gz"),
    (gzip.compress(b"not a tar archive" * 100), "tar.gz"),
]
SMALL = Limits(total_bytes=5000, file_bytes=1000, entries=20, depth=16)


@pytest.mark.parametrize(("data", "reason"), HOSTILE)
def test_a_hostile_package_is_refused_with_the_reason_and_leaves_nothing(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(TaskInvalid, match=reason):
        unpack_task(data, tmp_path / "in" / "out", limits=SMALL)
    assert list((tmp_path / "in").iterdir()) == []


def _header(name: bytes, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name.decode())
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("tar", "reason"),
    [
        (_header(b"x", tarfile.XHDTYPE, 1 << 30), "header"),
        (_header(b"x", tarfile.GNUTYPE_LONGNAME, 1 << 30), "header"),
        (_header(b"x", tarfile.REGTYPE, -512), "header"),
        ((_header(b"x", tarfile.XHDTYPE, 10) + b"10 a=bbbb\n".ljust(512, b"\0")) * 3000, "tar.gz"),
        (_header(b"task.toml", tarfile.REGTYPE, 900) + bytes(10), "tar.gz"),
    ],
)
def test_a_hostile_header_is_refused_before_it_costs_memory(tmp_path: Path, tar: bytes, reason: str) -> None:
    with pytest.raises(TaskInvalid, match=reason):
        unpack_task(gzip.compress(tar), tmp_path / "out")


def test_a_bomb_is_stopped_at_the_limit(tmp_path: Path) -> None:
    header = _header(b"x", tarfile.XHDTYPE, 60_000) + b"60000 a=".ljust(59_999, b"b") + b"\n" + bytes(416)
    bomb = gzip.compress(header * 40)
    assert len(bomb) < 20_000
    with pytest.raises(TaskInvalid, match="unpacks to more than"):
        unpack_task(bomb, tmp_path / "out", limits=SMALL)


GOOD = _tar_gz(CONFIG, _file("environment/a", b"x" * 700), _special("environment/l", tarfile.SYMTYPE, "a"))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_archive_is_unpacked_or_refused_never_worse(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]]
) -> None:
    tar = bytearray(gzip.decompress(GOOD))
    for position, value in damage:
        tar[position % len(tar)] = value
    outer = tmp_path_factory.mktemp("outer")
    try:
        unpack_task(gzip.compress(bytes(tar)), outer / "in" / "out", limits=SMALL)
    except TaskInvalid:
        assert list((outer / "in").iterdir()) == []
    assert list(outer.iterdir()) == [outer / "in"]


def test_the_digest_of_a_package_is_checked(make_task: MakeTask, tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid, match="sha256:"):
        unpack_task(pack_task(make_task()), tmp_path / "out", digest=f"sha256:{'0' * 64}")
    assert not (tmp_path / "out").exists()


def test_nothing_is_unpacked_over_what_is_there(make_task: MakeTask, tmp_path: Path) -> None:
    data = pack_task(make_task())
    unpack_task(data, tmp_path / "out")
    with pytest.raises(FileExistsError):
        unpack_task(data, tmp_path / "out")


def test_a_folder_link_to_what_isnt_packed_is_refused(make_task: MakeTask) -> None:
    root = make_task(files={"extra/a": "1"})
    (root / "environment" / "extra").symlink_to("../extra")
    with pytest.raises(TaskInvalid, match="isn't part of the task"):
        pack_task(root)


def test_a_folder_of_tasks_travels_as_one_package(make_task: MakeTask, tmp_path: Path) -> None:
    make_task("set/a")
    make_task("set/group/b")
    (tmp_path / "set" / "notes.txt").write_text("left out")
    found = unpack_dataset(pack_dataset(tmp_path / "set"), tmp_path / "out")
    dataset = load_dataset(found)
    assert [item.task.name for item in dataset.tasks] == ["a", "b"]
    assert dataset.digest == load_dataset(tmp_path / "set").digest
    assert not (tmp_path / "out" / "notes.txt").exists()


def test_one_task_and_a_plain_tar_of_a_folder_unpack_as_datasets(make_task: MakeTask, tmp_path: Path) -> None:
    root = make_task("set/a")
    one = load_dataset(unpack_dataset(pack_dataset(root), tmp_path / "one"))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(tmp_path / "set", "set")
    plain = load_dataset(unpack_dataset(buffer.getvalue(), tmp_path / "plain"))
    assert [[item.task.name for item in dataset.tasks] for dataset in (one, plain)] == [["a"], ["a"]]
    assert plain.name == "set"
