"""The platform itself: what it is, whether it works, and its workers."""

from typing import Literal

from proctor.contracts.messages import Beat
from proctor.gateway.answers.base import Answer


class Issue(Answer):
    """One problem: `key` is that of the submit TOML or the parameter's name, `correction` a likely intended value."""

    key: str
    message: str
    correction: str | None


class Problem(Answer):
    """What is wrong and what to do about it (RFC 9457). `error` repeats `detail`; `incident` is there with a 500 alone,
    and is found again in the log."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    error: str
    issues: list[Issue]
    incident: str = ""


class HealthLinks(Answer):
    live: str
    ready: str


class Home(Answer):
    name: str
    what: str
    version: str
    api: str
    openapi: str
    health: HealthLinks
    web_ui: str
    token: str


class Liveness(Answer):
    status: Literal["ok"]


class Check(Answer):
    ok: bool


class ProjectionCheck(Check):
    position: int
    lag: int | None


class Checks(Answer):
    nats: Check
    postgres: Check
    projection: ProjectionCheck
    scheduler: Check


class Readiness(Answer):
    status: Literal["ready", "unready"]
    checks: Checks


class Runner(Beat):
    """`silence`: seconds since its last beat."""

    silence: float


class Runners(Answer):
    runners: list[Runner]
