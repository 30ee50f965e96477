"""Tars out of a sandbox are hostile: what is kept of them is only ever plain files and folders."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.sandbox_runner.archive import file_tar, folder_tar, is_file, merge, read_files


def make_tar(*members: tuple[str, bytes | None, Mapping[str, object]]) -> bytes:
    """(name, content, attributes of its header)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, attributes in members:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.addfile(info, io.BytesIO(content or b""))
    return buffer.getvalue()


def kept(data: bytes) -> dict[str, bytes | None]:
    """Name -> content of the files, None for what isn't one."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        found = [(info.name, archive.extractfile(info) if info.isfile() else None) for info in archive]
    return {name: file.read() if file else None for name, file in found}


def sparse_tar(size: int) -> bytes:
    """GNU's sparse format 1.0: a header of one block that stands for `size` bytes."""
    headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "huge",
        "GNU.sparse.realsize": str(size),
    }
    content = f"1\n{size}\n0\n".encode().ljust(512, b"\0")
    return make_tar(("huge", content, {"pax_headers": headers}))


SYM, HARD = {"type": tarfile.SYMTYPE}, {"type": tarfile.LNKTYPE}
HOSTILE: dict[str, tuple[tuple[str, bytes | None, Mapping[str, object]], list[str]]] = {
    "symbolic link": (("a", None, SYM | {"linkname": "/etc/passwd"}), []),
    "hard link": (("a", None, HARD | {"linkname": "/etc/passwd"}), []),
    "hard link to itself": (("a", None, HARD | {"linkname": "a"}), []),
    "character device": (("a", None, {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5}), []),
    "block device": (("a", None, {"type": tarfile.BLKTYPE, "devmajor": 8}), []),
    "fifo": (("a", None, {"type": tarfile.FIFOTYPE}), []),
    "absolute": (("/etc/passwd", b"x", {}), ["app/etc/passwd"]),
    "absolute by an extended header": (
        ("a", b"x", {"pax_headers": {"path": "/etc/passwd"}}),
        ["app/etc/passwd"],
    ),
    "long": (("d/" * 80 + "f", b"x", {}), ["app/" + "d/" * 80 + "f"]),
    "not ASCII": (("dé", b"x", {}), ["app/dé"]),
    "upwards": (("../../etc/passwd", b"x", {}), []),
    "upwards inside": (("a/../../b", b"x", {}), []),
    "dots and slashes": (("./a/.//b", b"x", {}), ["app/a/b"]),
    "the folder itself": (("./", None, {"type": tarfile.DIRTYPE}), []),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_only_plain_members_are_kept(case: str) -> None:
    member, names = HOSTILE[case]
    merged = merge([("app", make_tar(member, ("good", b"1", {})))])
    assert kept(merged.data) == {**dict.fromkeys(names, b"x"), "app/good": b"1"}
    assert merged.files == len(names) + 1
    assert merged.whole


def test_nothing_of_a_header_is_carried_over() -> None:
    attributes = {"uid": 1234, "uname": "eve", "mode": 0o6755, "mtime": -1, "pax_headers": {"SCHILY.xattr.user.x": "y"}}
    merged = merge([("app", make_tar(("a", b"x", attributes)))])
    with tarfile.open(fileobj=io.BytesIO(merged.data), mode="r:") as archive:
        (info,) = archive
    assert (info.uid, info.uname, info.mode, info.mtime, info.pax_headers) == (0, "", 0o755, 0, {})


@pytest.mark.parametrize("size", [1 << 20, 1 << 40])
def test_a_sparse_file_is_left_out_unexpanded(size: int) -> None:
    merged = merge([("app", sparse_tar(size)), ("logs", file_tar("a", b"x"))])
    assert kept(merged.data) == {"logs/a": b"x"}
    assert not merged.whole


def test_a_compressed_tar_is_not_expanded() -> None:
    bomb = gzip.compress(make_tar(("a", bytes(50 << 20), {})))
    merged = merge([("app", bomb)])
    assert (kept(merged.data), merged.files, merged.whole) == ({}, 0, False)


def test_a_size_below_zero_ends_it() -> None:
    info = tarfile.TarInfo("a")
    info.size = -512  # the next header would be this one again
    merged = merge([("app", info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))])
    assert (kept(merged.data), merged.whole) == ({}, False)


def test_the_first_of_a_name_counts() -> None:
    twice = make_tar(("a", b"first", {}), ("./a", b"second", {}))
    merged = merge([("app", twice), ("app", file_tar("a", b"third")), ("", file_tar("app", b"fourth"))])
    assert kept(merged.data) == {"app/a": b"first", "app": b"fourth"}
    assert merged.files == 2


def test_what_comes_before_a_broken_end_is_kept() -> None:
    broken = make_tar(("a", b"x" * 512, {}), ("b", b"y" * 4096, {}))[: 4 * 512]
    merged = merge([("app", broken), ("logs", file_tar("c", b"z"))])
    assert kept(merged.data) == {"app/a": b"x" * 512, "logs/c": b"z"}
    assert not merged.whole


LINKS = {
    # name of the link, its target, whether it stays
    "beside": ("d/l", "f", True),
    "up and inside": ("d/e/l", "../f", True),
    "to the top": ("d/l", "..", True),
    "absolute": ("l", "/tests/expected.json", False),
    "out": ("d/l", "../../tests", False),
    "out and in again": ("l", "../app/f", False),
    "up after a name": ("d/l", "e/../../..", False),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_stay_inside_for_a_verifier(case: str) -> None:
    name, target, stays = LINKS[case]
    tar = make_tar((name, None, SYM | {"linkname": target}))
    assert kept_links(merge([("", tar)], links=True).data) == ({name: target} if stays else {})
    assert kept_links(merge([("", tar)]).data) == {}


def kept_links(data: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        return {info.name: info.linkname for info in archive if info.issym()}


def test_nothing_is_put_through_a_link() -> None:
    tar = make_tar(("a", None, SYM | {"linkname": "."}), ("a/b", None, SYM | {"linkname": ".."}), ("a/c", b"x", {}))
    data = merge([("", tar)], links=True).data
    assert (kept_links(data), list(kept(data))) == ({"a": "."}, ["a"])


NAMES = st.text("ab./\0é\udc80", max_size=12)


@given(
    st.lists(
        st.tuples(
            NAMES,
            st.binary(max_size=64),
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from([b"0", b"1", b"2", b"3", b"5", b"6", b"7", b"S", b"L", b"K", b"x", b"g"]),
                    "linkname": NAMES,
                    "mode": st.integers(0, 2**21 - 1),
                    "mtime": st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False),
                    "size": st.integers(-(2**40), 2**40),
                },
            ),
        ),
        max_size=6,
    ),
    st.integers(0, 4096),
    st.binary(max_size=16),
    st.booleans(),
)
def test_whatever_comes_the_result_is_plain(
    members: list[tuple[str, bytes, dict[str, object]]], place: int, noise: bytes, links: bool
) -> None:
    buffer = bytearray()
    for name, content, attributes in members:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        for attribute, value in attributes.items():
            setattr(info, attribute, value)
        try:
            buffer += info.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape") + content.ljust(512, b"\0")
        except ValueError:
            continue
    buffer[place : place + len(noise)] = noise
    merged = merge([("logs/agent", bytes(buffer))], links=links)
    with tarfile.open(fileobj=io.BytesIO(merged.data), mode="r:") as archive:
        found = archive.getmembers()
    for info in found:
        assert info.isfile() or info.isdir() or (links and info.issym())
        assert info.name.startswith("logs/agent/")
        assert ".." not in info.name.split("/")
    assert len({info.name for info in found}) == len(found)
    assert sum(info.isfile() for info in found) == merged.files


@given(st.binary(max_size=2048))
def test_any_bytes_are_survived(data: bytes) -> None:
    assert merge([("a", data)]).files == 0 or len(data) >= 512
    assert is_file(data, "a") in {True, False}


def test_one_file_or_a_folder() -> None:
    assert is_file(file_tar("out", b"x"), "out")
    assert not is_file(file_tar("other", b"x"), "out")
    folder = make_tar(("./", None, {"type": tarfile.DIRTYPE}), ("./out", b"x", {}))
    assert not is_file(folder, "out")
    two = make_tar(("out", b"x", {}), ("tests/test.sh", b"evil", {}))
    assert not is_file(two, "out")


def test_read_files_takes_small_ones_only() -> None:
    data = merge([("v", make_tar(("a", b"12345", {}), ("b", b"123456", {}), ("c", b"1", {})))]).data
    assert read_files(data, {"v/a", "v/b", "v/d"}, 5) == {"v/a": b"12345"}


def test_later_folders_lie_over_earlier_ones(tmp_path: Path) -> None:
    for folder, files in {"tests": {"test.sh": "1", "data/a": "1"}, "step": {"test.sh": "2", "b": "2"}}.items():
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "step" / "test.sh").chmod(0o600)
    data = folder_tar(tmp_path / "tests", tmp_path / "step")
    assert kept(data) == {"test.sh": b"2", "data": None, "data/a": b"1", "b": b"2"}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        script = archive.getmember("test.sh")
    assert (script.mode, script.uid, script.uname) == (0o711, 0, "")
