"""Wait for something to happen on the platform, showing how far it is; a gateway that restarts is waited for."""

import time
from collections.abc import Callable
from typing import Any, Final

from proctor.cli.client import Client, Unreachable, segment
from proctor.cli.documents import Json, parts
from proctor.cli.failure import Failure

POLL_SECONDS: Final = 0.3
PATIENCE_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 5.0
ENDED: Final = frozenset({"finished", "failed", "stopped"})


def poll(ask: Callable[[], Json], done: Callable[[Json], bool], show: Callable[[Json], Any], limit: float) -> Json:
    """Ask until `done`; the last answer. Raises Failure when `limit` seconds pass, or nothing answers for a minute."""
    began = answered = time.monotonic()
    while True:
        try:
            answer = ask()
        except Unreachable:
            if time.monotonic() - answered > PATIENCE_SECONDS:
                raise
        else:
            answered = time.monotonic()
            show(answer)
            if done(answer):
                return answer
        if time.monotonic() - began > limit:
            raise Failure(f"not done after {limit:.0f} s; it goes on without this command")
        time.sleep(POLL_SECONDS)


def follow_run(client: Client, run: str, show: Callable[[Json], Any], limit: float = float("inf")) -> Json:
    return poll(lambda: client.get(f"runs/{segment(run)}"), lambda answer: answer["status"] in ENDED, show, limit)


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
