"""Identifiers, each safe as one token of a NATS subject."""

import re
import secrets
import uuid
from typing import Annotated, NamedTuple

from pydantic import StringConstraints

TOKEN_PATTERN = r"^[A-Za-z0-9_-]{1,128}$"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
Token = Annotated[str, StringConstraints(pattern=TOKEN_PATTERN)]
AttemptId = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-[1-9][0-9]*$")]
SYSTEM_WORKSPACE = "system"
_RUN_NAMESPACE = uuid.UUID("6f0d3a52-5c0e-4f6e-9f3b-6e2f0f1b7c11")


class Cell(NamedTuple):
    """One cell of a run's matrix. `agent` and `task` count from 0 in the plan's order, `number` from 1."""

    agent: int
    task: int
    number: int

    def __str__(self) -> str:
        return f"{self.agent}-{self.task}-{self.number}"

    @classmethod
    def parse(cls, text: str) -> "Cell":
        agent, task, number = text.split("-")
        return cls(int(agent), int(task), int(number))


def is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def new_id() -> str:
    return uuid.uuid4().hex


def run_id(workspace: str, idempotency_key: str | None) -> str:
    """The same key in the same workspace is the same run, so a repeated submit can't start a second one."""
    if idempotency_key is None:
        return new_id()
    return uuid.uuid5(_RUN_NAMESPACE, f"{workspace}\0{idempotency_key}").hex


def short_id() -> str:
    return secrets.token_hex(4)


def sandbox_id(run: str, attempt: str, epoch: int) -> str:
    return f"{run}-{attempt}-{epoch}"
