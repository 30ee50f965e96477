"""Where the read models live."""

from typing import Final

from proctor.contracts import subjects
from proctor.service.projection import Place

PACKAGE: Final = "proctor.leaderboard"
SCHEMA: Final = "leaderboard"
NAME: Final = "read-models"
CHANNEL: Final = "leaderboard"


def place(schema: str = SCHEMA, *, channel: str | None = CHANNEL) -> Place:
    return Place(name=NAME, schema=schema, filters=(subjects.RUN_EVENTS, subjects.BENCHMARK_EVENTS), channel=channel)
