"""Wait for something to happen on the platform, showing how far it is; a gateway that restarts is waited for."""

import time
from collections.abc import Callable
from typing import Any, Final

from proctor.cli.client import Client, Unreachable, segment
from proctor.cli.documents import ENDED, Json, parts
from proctor.cli.failure import Exit, Failure
from proctor.cli.output import notice

POLL_SECONDS: Final = 0.3
PATIENCE_SECONDS: Final = 300.0
SETTLE_SECONDS: Final = 5.0


class Patience:
    """Bears with a platform that is away for some minutes, as in a restart, and says so: once when it goes, once when
    it is back. `say` is told a line."""

    def __init__(self, say: Callable[[str], Any] = notice) -> None:
        self._say = say
        self._since: float | None = None

    def ask[T](self, question: Callable[[], T]) -> T | None:
        """None while nothing answers. Raises Unreachable when that goes on for too long."""
        try:
            answer = question()
        except Unreachable as error:
            if self._since is None:
                self._since = time.monotonic()
                self._say(f"the platform is away, waiting for it: {error.message}")
            elif time.monotonic() - self._since > PATIENCE_SECONDS:
                raise
            return None
        if self._since is not None:
            self._since = None
            self._say("the platform is back")
        return answer


def poll(
    ask: Callable[[], Json],
    done: Callable[[Json], bool],
    show: Callable[[Json], Any],
    limit: float,
    say: Callable[[str], Any] = notice,
) -> Json:
    """Ask until `done`; the last answer. Raises Failure when `limit` seconds pass, or nothing answers for long."""
    began = time.monotonic()
    patience = Patience(say)
    while True:
        answer = patience.ask(ask)
        if answer is not None:
            show(answer)
            if done(answer):
                return answer
        if time.monotonic() - began > limit:
            raise Failure(f"not done after {limit:g} s; it goes on without this command", code=Exit.TIMED_OUT)
        time.sleep(POLL_SECONDS)


def follow_run(
    client: Client,
    run: str,
    show: Callable[[Json], Any],
    limit: float = float("inf"),
    say: Callable[[str], Any] = notice,
) -> Json:
    """Until it has ended."""
    path = f"runs/{segment(run)}"
    return poll(lambda: client.get(path), lambda answer: answer["status"] in ENDED, show, limit, say)


def settle_run(client: Client, run: str) -> Json:
    """An ended run once the figures of its agents hold for its last event; as it is after some seconds."""

    def settled(answer: Json) -> bool:
        agents = parts(answer, "agent_results")
        return time.monotonic() > deadline or all(one["metrics_position"] >= one["position"] for one in agents)

    deadline = time.monotonic() + SETTLE_SECONDS
    return poll(lambda: client.get(f"runs/{segment(run)}"), settled, lambda _: None, float("inf"))


def follow_sync(client: Client, benchmark: str, show: Callable[[Json], Any], limit: float = float("inf")) -> Json:
    """Until the task list is there. Raises Failure with the reason when the sync failed."""
    path = f"benchmarks/{segment(benchmark)}"
    ended = {"ready", "failed"}
    answer = poll(lambda: client.get(path), lambda answer: answer["status"] in ended, show, limit)
    if answer["status"] == "failed":
        raise Failure(f"{answer['key']} can't be read: {answer['error']}")
    return answer


def board_with(client: Client, benchmark: str, run: str, limit: float = 15) -> Json:
    """The leaderboard once a run that ended is on it, or below it with the rule it failed."""

    def there(board: Json) -> bool:
        return any(row["run"] == run for row in [*parts(board, "rows"), *parts(board, "ineligible")])

    return poll(lambda: client.get(f"benchmarks/{segment(benchmark)}/leaderboard"), there, lambda _: None, limit)
