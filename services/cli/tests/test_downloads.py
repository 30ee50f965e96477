"""Downloads from a server that breaks off, changes its mind or names files that lead elsewhere."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from proctor.cli.access import Access
from proctor.cli.client import Client
from proctor.cli.downloads import Report, fetch, plan, target_of

DATA = bytes(range(256)) * 40
TAG = '"abc123"'


class Shop:
    """Answers with `data`, of which only `first` bytes arrive the first time; it takes ranges as long as `tag` is
    theirs."""

    def __init__(self) -> None:
        self.data, self.tag, self.first = DATA, TAG, len(DATA)
        self.asked: list[tuple[str, str | None]] = []
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range")
                shop.asked.append((unquote(urlsplit(self.path).path), asked))
                resumed = asked is not None and self.headers.get("If-Range") == shop.tag
                rest = shop.data[int(asked.removeprefix("bytes=").rstrip("-")) :] if resumed and asked else shop.data
                if "gone" in self.path:
                    self.send_error(404)
                    return
                self.send_response(206 if resumed else 200)
                self.send_header("Content-Length", str(len(rest)))
                self.end_headers()
                self.wfile.write(rest[: shop.first])
                shop.first = len(shop.data)
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def fetch(self, folder: Path, *paths: str, size: int = len(DATA), overwrite: bool = False) -> Report:
        tags = {path: f'"{number}"' if number else TAG for number, path in enumerate(paths)}
        listing = {"items": [{"path": path, "size": size, "etag": tag} for path, tag in tags.items()]}
        counted: list[int] = []
        with Client(Access(f"http://127.0.0.1:{self.server.server_address[1]}", "token")) as client:
            report = fetch(client, "r", "s", plan(listing, folder, overwrite=overwrite), counted.append)
        assert report.failed or sum(counted) == size * len(report.downloaded)
        return report


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.cli.downloads.PAUSE_SECONDS", 0.01)


PATH = "artifacts/a/agent/b c%é.txt"


def test_a_file_is_taken_up_again_where_it_broke_off(shop: Shop, tmp_path: Path) -> None:
    shop.first = 3000
    assert shop.fetch(tmp_path, PATH).downloaded == [PATH]
    assert (tmp_path / PATH).read_bytes() == DATA
    assert shop.asked == [(f"/api/v1/runs/r/outputs/{PATH}", None), (f"/api/v1/runs/r/outputs/{PATH}", "bytes=3000-")]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["b c%é.txt"]


def test_a_file_that_changed_meanwhile_begins_again(shop: Shop, tmp_path: Path) -> None:
    shop.first, shop.tag = 3000, '"other"'
    assert shop.fetch(tmp_path, "a.txt").downloaded == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == DATA


def test_a_later_command_takes_up_what_an_earlier_one_left(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / ".abc123.partial").write_bytes(DATA[:100])
    shop.fetch(tmp_path, "a.txt")
    assert shop.asked[0][1] == "bytes=100-"
    assert (tmp_path / "a.txt").read_bytes() == DATA


def test_a_wrong_size_fails_and_the_others_go_on(shop: Shop, tmp_path: Path) -> None:
    short = shop.fetch(tmp_path, "a.txt", size=len(DATA) + 1)
    assert short.failed == {"a.txt": f"{len(DATA)} bytes arrived instead of {len(DATA) + 1}"}
    (tmp_path / "folder").mkdir()
    mixed = shop.fetch(tmp_path, "gone.txt", "folder", "b.txt")
    assert mixed.downloaded == ["b.txt"]
    assert set(mixed.failed) == {"gone.txt", "folder"}


def test_what_is_there_is_fetched_again_only_when_asked(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * len(DATA))
    assert shop.fetch(tmp_path, "a.txt").skipped == ["a.txt"]
    assert shop.asked == []
    assert shop.fetch(tmp_path, "a.txt", overwrite=True).downloaded == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == DATA


def test_nothing_is_written_outside_of_the_folder(shop: Shop, tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    hostile = ["../out/a", "/etc/a", "a/../../out/a", "a\\..\\b", "", ".", "a//b", "link/a", "a\0b"]
    assert all(target_of(folder, path) is None for path in hostile)
    report = shop.fetch(folder, *hostile)
    assert set(report.failed) == set(hostile)
    assert (shop.asked, list(outside.iterdir())) == ([], [])
