"""Cells, names, ranges and tokens of downloads: what they are, without a gateway."""

import csv
import io
import os
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.gateway.outputs.cells import write_rows
from proctor.gateway.outputs.manifest import read_kinds
from proctor.gateway.outputs.members import fit_names, members_of
from proctor.gateway.outputs.ranges import part
from proctor.gateway.outputs.spools import InMemory, OnDisk
from proctor.gateway.outputs.tokens import (
    Grant,
    Place,
    Snapshot,
    grant_token,
    read_grant,
    read_snapshot,
    snapshot_token,
)
from proctor.gateway.vault.cipher import Sealer
from proctor.service.errors import Forbidden, Invalid

SNAPSHOT = Snapshot("w", "r", 17, 40)


def written(*values: Any) -> str:
    text = io.StringIO(newline="")
    write_rows(text, [values])
    return text.getvalue()


CELLS: list[tuple[tuple[Any, ...], str]] = [
    ((None, "", 0, 0.0, Decimal(0)), ",,0,0.0,0\r\n"),
    ((True, False), "true,false\r\n"),
    ((-1, -0.5, Decimal("-1.50"), Decimal("1E+2")), "-1,-0.5,-1.50,100\r\n"),
    ((datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1))),), "2026-01-02T02:04:05.000000Z\r\n"),
    (({"reward": "1", "b": [None]}, []), '"{""reward"":""1"",""b"":[null]}",[]\r\n'),
    (('say "hi", you', "two\nlines", "grün"), '"say ""hi"", you","two\nlines",grün\r\n'),
]


@pytest.mark.parametrize(("values", "line"), CELLS)
def test_cells(values: tuple[Any, ...], line: str) -> None:
    assert written(*values) == line


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\n=x", "'=1", "''-x"]
PLAIN = ["a=1", " =1", "'quoted'", "", "it's", "\u2212 1"]


def test_a_spreadsheet_runs_no_cell_and_every_text_can_be_had_back() -> None:
    for text in FORMULAS + PLAIN:
        (read,) = next(csv.reader(io.StringIO(written(text), newline="")))
        assert read == (f"'{text}" if text in FORMULAS else text)
        assert re.sub(r"^'(?='*[=+\-@\t\r\n])", "", read) == text


def test_files_have_names_that_fit_any_machine() -> None:
    names = [
        "a/b.txt",
        "./a//c",
        "/etc/passwd",
        "../../up",
        "a\\b",
        "new\nline",
        "caf\udce9",
        "",
        "a",
        "A/B.TXT",
        "a~2",
    ]
    assert fit_names(names) == [
        "a/b.txt",
        "a/c",
        "etc/passwd",
        "up",
        "a\ufffdb",
        "new\ufffdline",
        "caf\ufffd",
        "file",
        "a~2",
        "A/B.TXT~2",
        "a~2~2",
    ]


def test_what_is_no_tar_has_no_files(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"no tar at all", b"\x1f\x8b" + os.urandom(600))):
        file = tmp_path / str(number)
        file.write_bytes(data)
        with file.open("rb") as opened:
            assert members_of(OnDisk(opened)) == members_of(InMemory(data)) == []


TAG = '"t"'


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({}, (200, 0, 10)),
        ({"range": "bytes=0-0"}, (206, 0, 1)),
        ({"range": "bytes=2-5"}, (206, 2, 4)),
        ({"range": "Bytes=2-5"}, (206, 2, 4)),
        ({"range": "bytes=8-"}, (206, 8, 2)),
        ({"range": "bytes=8-99"}, (206, 8, 2)),
        ({"range": "bytes=-3"}, (206, 7, 3)),
        ({"range": "bytes=-99"}, (206, 0, 10)),
        ({"range": "bytes=10-"}, (416, 0, 0)),
        ({"range": "bytes=10-12"}, (416, 0, 0)),
        ({"range": "bytes=-0"}, (416, 0, 0)),
        ({"range": "bytes=5-2"}, (200, 0, 10)),
        ({"range": "bytes=0-1,4-5"}, (200, 0, 10)),
        ({"range": "bytes=-"}, (200, 0, 10)),
        ({"range": "lines=1-2"}, (200, 0, 10)),
        ({"range": "bytes=a-b"}, (200, 0, 10)),
        ({"range": "bytes=2-5", "if-range": TAG}, (206, 2, 4)),
        ({"range": "bytes=2-5", "if-range": f"W/{TAG}"}, (200, 0, 10)),
        ({"range": "bytes=2-5", "if-range": '"old"'}, (200, 0, 10)),
        ({"range": "bytes=2-5", "if-range": "Tue, 01 Dec 2026 00:00:00 GMT"}, (200, 0, 10)),
        ({"if-none-match": TAG}, (304, 0, 0)),
        ({"if-none-match": f'"old", W/{TAG}'}, (304, 0, 0)),
        ({"if-none-match": "*"}, (304, 0, 0)),
        ({"if-none-match": '"old"'}, (200, 0, 10)),
        ({"if-none-match": TAG, "range": "bytes=2-5"}, (304, 0, 0)),
    ],
)
def test_ranges_and_conditions(headers: dict[str, str], answer: tuple[int, int, int]) -> None:
    assert part(headers, TAG, 10) == answer


def test_an_empty_file_has_no_range() -> None:
    assert part({}, TAG, 0) == (200, 0, 0)
    assert part({"range": "bytes=0-"}, TAG, 0) == (416, 0, 0)


def test_a_snapshot_is_of_its_run_alone() -> None:
    sealer = Sealer(b"k" * 32)
    token = snapshot_token(sealer, SNAPSHOT)
    assert read_snapshot(sealer, "w", "r", token) == SNAPSHOT
    others = [("w", "q", token), ("v", "r", token), ("w", "r", token.replace("17", "18")), ("w", "r", "17.40.")]
    for workspace, run, one in [*others, ("w", "r", ""), ("w", "r", "é" * 30), ("w", "r", token + "x")]:
        with pytest.raises(Invalid, match="ask for the manifest again"):
            read_snapshot(sealer, workspace, run, one)
    with pytest.raises(Invalid):
        read_snapshot(Sealer(b"o" * 32), "w", "r", token)


def test_a_grant_ends_and_can_be_changed_by_nobody() -> None:
    sealer, grant = Sealer(b"k" * 32), Grant("artifacts/a/agent/grün.txt", Place("artifact/a", 512, 7), 1000)
    token = grant_token(sealer, grant)
    assert read_grant(sealer, token, 999.9) == grant
    with pytest.raises(Forbidden, match="expired"):
        read_grant(sealer, token, 1000)
    payload, mac = token.split(".")
    later = grant_token(Sealer(b"o" * 32), grant._replace(expires=9999))
    other = grant_token(sealer, grant._replace(path="logs.txt")).split(".")[0]
    forged = [
        later,
        f"{other}.{mac}",
        f"{payload}.{mac[:-1]}",
        payload,
        f"{payload}.",
        f".{mac}",
        "",
        ".",
        "é.é",
        "%%%",
    ]
    for one in [*forged, snapshot_token(sealer, SNAPSHOT)]:
        with pytest.raises(Forbidden, match="isn't valid"):
            read_grant(sealer, one, 0)


def test_kinds_are_read_as_the_osmosis_command_sends_them() -> None:
    assert read_kinds(None) == ("summary", "results")
    assert read_kinds("logs,summary,logs") == ("logs", "summary")
    assert read_kinds("all") == ("summary", "results", "artifacts", "logs")
    for wrong in ("", "all,logs", "logs,", "lock", "Logs"):
        with pytest.raises(Invalid, match="choose from summary, results, artifacts, logs, all"):
            read_kinds(wrong)
