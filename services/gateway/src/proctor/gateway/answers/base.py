"""What the answers share."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Every field is always there; one that isn't known is null."""

    model_config = ConfigDict(frozen=True)


class Page[Item](Answer):
    items: list[Item]
    next_cursor: Annotated[str | None, Field(description="for `cursor`; null on the last page")]


Moment = Annotated[datetime, Field(examples=["2026-11-30T12:00:00Z"])]
Position = Annotated[int, Field(description="a sequence of the event log")]


class Rate(Answer):
    """With a 95 % interval. `n` counts tasks, `n_eff` the independent trials that the interval is as wide as."""

    value: float
    ci_low: float
    ci_high: float
    n: int
    n_eff: float | None
    method: str
    provisional: bool


class RateAt(Rate):
    k: int


class Mean(Answer):
    """Per task, with a 95 % interval; it ranks only where no task is missing."""

    value: float
    ci_low: float | None
    ci_high: float | None
    tasks: int
    missing: int
