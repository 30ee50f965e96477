import pytest

from proctor.cli import follow
from proctor.cli.client import Unreachable
from proctor.cli.follow import Patience, poll


def test_a_platform_that_goes_and_comes_back_is_told_of_once_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "POLL_SECONDS", 0)
    away = Unreachable("nothing answers at http://x")
    answers = [{"n": 1}, away, away, {"n": 2}, {"n": 3}]
    said: list[str] = []
    seen: list[int] = []

    def ask() -> dict[str, int]:
        answer = answers.pop(0)
        if isinstance(answer, Unreachable):
            raise answer
        return answer

    poll(ask, lambda answer: answer["n"] == 3, lambda answer: seen.append(answer["n"]), 60, said.append)
    assert seen == [1, 2, 3]
    assert said == [
        "the platform is away, waiting for it: nothing answers at http://x",
        "the platform is back",
    ]


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PATIENCE_SECONDS", -1.0)
    patience = Patience(lambda _: None)

    def ask() -> None:
        raise Unreachable("gone")

    assert patience.ask(ask) is None
    with pytest.raises(Unreachable):
        patience.ask(ask)
