"""Why a try ended without anything to grade, by a row of the error policy."""

from typing import Literal

Phase = Literal["package", "environment", "setup", "agent", "collect"]


class Failure(Exception):
    """`kind` is a key of `proctor.contracts.outcomes.POLICY`; the message holds no agent output."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message
