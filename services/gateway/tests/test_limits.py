"""How often one caller may do what is costly or can be guessed at."""

from typing import Any

import pytest

from proctor.gateway.access.limits import Bucket, Limits
from proctor.service.errors import TooMany

UNLIMITED: dict[Bucket, int] = {"sign_in": 0, "tokens": 0, "device": 0, "submits": 0}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refusal(limits: Limits, key: str = "ada") -> int | None:
    """The seconds to wait."""
    try:
        limits.check("submits", key)
    except TooMany as error:
        return error.retry_after
    return None


@pytest.mark.parametrize("per_minute", [1, 6, 7, 60, 1000])
def test_a_minutes_worth_at_once_and_then_one_at_a_time(per_minute: int) -> None:
    clock = Clock()
    limits = Limits({**UNLIMITED, "submits": per_minute}, clock)
    assert [refusal(limits) for _ in range(per_minute)] == [None] * per_minute
    wait = -(-60 // per_minute)
    assert refusal(limits) == wait
    assert refusal(limits, "bob") is None
    limits.check("tokens", "ada")
    clock.now += 60 / per_minute - 0.01
    assert refusal(limits) == 1
    clock.now += 0.01
    assert [refusal(limits), refusal(limits)] == [None, wait]
    clock.now += 3600
    assert [refusal(limits) for _ in range(per_minute + 1)].count(None) == per_minute


def test_zero_is_no_limit() -> None:
    limits = Limits(UNLIMITED, Clock())
    assert {refusal(limits) for _ in range(10_000)} == {None}


def test_idle_callers_are_forgotten() -> None:
    clock = Clock()
    limits = Limits({**UNLIMITED, "submits": 60}, clock)
    for caller in range(30_000):
        clock.now += 0.01
        limits.check("submits", str(caller))
    assert len(vars(limits)["_full_at"]) <= 10_000


async def test_over_the_limit_is_a_problem_that_says_when_to_come_again(
    start_gateway: Any, nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rate in (("SIGN_IN", "3"), ("TOKENS", "2"), ("SUBMITS", "2")):
        monkeypatch.setenv(f"PROCTOR_RATE_{name}", rate)
    async with start_gateway(nats_url) as gateway:
        made: list[Any] = []
        for path, body, statuses in (
            ("/api/v1/tokens", {"name": "t"}, [201, 201, 429]),
            ("/api/v1/runs", {}, [400, 400, 429]),
        ):
            answers = [await gateway.client.post(path, json=body) for _ in statuses]
            assert [answer.status_code for answer in answers] == statuses
            assert (answers[-1].json()["code"], answers[-1].json()["status"]) == ("RATE_LIMITED", 429)
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 30
            made += answers
        # a guess a second is refused without looking; a token that was good before still works from that address
        fresh = {"Authorization": f"Bearer {made[0].json()['token']}"}
        guess = {"Authorization": "Bearer proctor_guess"}
        guesses = [await gateway.client.get("/api/v1/runs", headers=guess) for _ in range(4)]
        assert [answer.status_code for answer in guesses] == [401, 401, 401, 429]
        assert 1 <= int(guesses[-1].headers["retry-after"]) <= 20
        assert (await gateway.client.get("/api/v1/runs", headers=fresh)).status_code == 429
        assert (await gateway.client.get("/api/v1/runs")).status_code == 200
        assert (await gateway.client.get("/api/v1/runs", headers={"Authorization": "none"})).status_code == 401
