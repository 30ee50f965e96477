"""Files under names that no JSON can hold."""

import io
import tarfile
from typing import Any

from proctor.gateway import artifacts


def tar_of(name: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo(name)
        member.size = 2
        archive.addfile(member, io.BytesIO(b"hi"))
    return buffer.getvalue()


NAMES: dict[bytes, str] = {
    b"plain.txt": "plain.txt",
    "grün.txt".encode(): "grün.txt",
    b"caf\xe9/a.txt": "caf\ufffd/a.txt",
    b"\xff": "\ufffd",
    b"\xed\xa0\x80": "\ufffd\ufffd\ufffd",
}


async def test_a_name_that_isnt_utf_8_is_listed_and_had_by_what_is_listed(gateway: Any) -> None:
    for raw, shown in NAMES.items():
        data = tar_of(raw.decode("utf-8", "surrogateescape"))
        assert raw in data
        await gateway.objects.put("artifacts/x", data)
        listed = await artifacts.listing(gateway.objects, {"agent": "artifacts/x"})
        assert listed == [("agent", shown, 2)]
        assert await artifacts.content(gateway.objects, "artifacts/x", shown) == b"hi"
