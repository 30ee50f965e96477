"""Artifacts hold what an agent wrote: reading one unpacks nothing and stays within its size."""

import gzip
import io
import tarfile

import pytest

from proctor.objects.tars import list_members, read_member


def entry(
    name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, **changes: object
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    for field, value in changes.items():
        setattr(info, field, value)
    return info, data


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_files_are_listed_by_path_and_read() -> None:
    data = tar(entry("b.txt", b"bb"), entry("dir", kind=tarfile.DIRTYPE), entry("dir/a.txt", b"a"), entry("empty"))
    assert list_members(data) == [("b.txt", 2), ("dir/a.txt", 1), ("empty", 0)]
    assert read_member(data, "dir/a.txt") == b"a"
    assert read_member(data, "empty") == b""
    assert read_member(data, "dir") is None
    assert read_member(data, "none") is None


def test_only_files_are_files() -> None:
    data = tar(
        entry("link", kind=tarfile.SYMTYPE, linkname="/etc/passwd"),
        entry("hard", kind=tarfile.LNKTYPE, linkname="file"),
        entry("pipe", kind=tarfile.FIFOTYPE),
        entry("device", kind=tarfile.CHRTYPE),
        entry("file", b"x"),
    )
    assert list_members(data) == [("file", 1)]
    for name in ("link", "hard", "pipe", "device"):
        assert read_member(data, name) is None


def test_names_are_text_and_touch_nothing() -> None:
    data = tar(entry("../../escape", b"x"), entry("/etc/passwd", b"y"))
    assert [member.path for member in list_members(data)] == ["../../escape", "/etc/passwd"]
    assert read_member(data, "../../escape") == b"x"


def sparse(size: int) -> bytes:
    """A GNU sparse file that claims to be `size` bytes of hole."""
    info = tarfile.TarInfo("sparse")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    number = b"\x80" + size.to_bytes(11)
    header[386:398], header[398:410], header[483:495] = number, b"\0" * 12, number
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header) + b"\0" * 1_024


def test_a_hole_is_not_a_file() -> None:
    """It would be made of memory: 512 bytes become terabytes."""
    data = sparse(1 << 42)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getmembers()[0].size == 1 << 42, "tarfile believes it"
    assert list_members(data) == []
    assert read_member(data, "sparse") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a tar at all" * 100,
        gzip.compress(tar(entry("a", b"x"))),
        tar(entry("a", b"x" * 5_000))[:1_000],
        tar(entry("n" * 200, b"x"), form=tarfile.GNU_FORMAT)[:600],
    ],
    ids=["empty", "noise", "compressed", "cut in a file", "cut in a name"],
)
def test_what_is_no_whole_tar_is_an_error_of_its_own(data: bytes) -> None:
    for read in (lambda: list_members(data), lambda: read_member(data, "a")):
        with pytest.raises(tarfile.TarError):
            read()
