import io
from pathlib import Path

import pytest

from proctor.cli.bus import bus_url
from proctor.cli.failure import Failure

URL = "nats://proctor:s3cret@10.0.0.1:4222"


def test_an_address_comes_as_it_is_from_a_file_or_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "outside.url"
    file.write_text(URL + "\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(URL + "\n"))
    assert bus_url(URL) == bus_url(str(file)) == bus_url("-") == URL


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("10.0.0.1:4222", "'10.0.0.1:4222' is neither an address nor a file"),
        ("http://10.0.0.1:4222", "starts with http://"),
        ("nats://", "names no host"),
        ("nats://h:99999", "Port out of range"),
        ("nats://p:s3cret@h:port", "Port could not be cast"),
        ("nats://a b", "holds no address"),
    ],
)
def test_what_is_no_address_is_told_with_the_form_and_without_a_password(given: str, said: str) -> None:
    with pytest.raises(Failure, match=r"nats://USER:PASSWORD@HOST:PORT") as caught:
        bus_url(given)
    assert said in caught.value.message
    assert "s3cret" not in caught.value.message


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(Failure, match="empty' holds no address"):
        bus_url(str(tmp_path / "empty"))
