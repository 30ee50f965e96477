"""Users, tokens, workspaces, secrets, and the log of who changed what."""

from typing import Any, Literal

from pydantic import Field

from proctor.gateway.answers.base import Answer, Moment, Page

RoleName = Literal["viewer", "member", "admin", "owner"]
Scope = Literal["workspace", "user"]


class CurrentUser(Answer):
    id: str
    name: str
    email: str
    operator: bool


class CurrentWorkspace(Answer):
    id: str
    name: str
    role: RoleName


class CurrentToken(Answer):
    id: str
    name: str
    expires_at: Moment | None


class WhoAmI(Answer):
    """`workspace` is null for a user in none."""

    user: CurrentUser
    workspace: CurrentWorkspace | None
    token: CurrentToken


class Token(Answer):
    id: str
    name: str
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None


class CreatedToken(Answer):
    id: str
    name: str
    token: str = Field(description="shown this once")
    expires_at: Moment | None


class User(Answer):
    id: str
    name: str
    email: str
    operator: bool
    created_at: Moment


class Workspace(Answer):
    """`role` is the caller's; null for an operator who isn't in it."""

    id: str
    name: str
    role: RoleName | None
    repo: str | None
    billing: Literal["ok", "suspended"]
    created_at: Moment


class Member(Answer):
    id: str
    name: str
    email: str
    role: RoleName
    added_at: Moment


class UsedBudget(Answer):
    usd: float
    attempts: int


class BudgetState(Answer):
    """Null is no limit; `used` is this month's."""

    run_usd: float | None
    run_attempts: int | None
    month_usd: float | None
    month_attempts: int | None
    changed_by: str | None
    changed_at: Moment | None
    used: UsedBudget


class Device(Answer):
    user_code: str
    device_name: str
    created_at: Moment
    expires_at: Moment
    approved: bool | None


class DecidedDevice(Answer):
    user_code: str
    device_name: str
    approved: bool


class Secret(Answer):
    """All that is ever shown of one."""

    id: str
    name: str
    scope: Scope
    version: int
    created_at: Moment
    updated_at: Moment
    creator: str
    updater: str
    creator_name: str | None
    updater_name: str | None


class Rotation(Answer):
    """`sealed` counts the values that are under the new key; `source` is where the key comes from."""

    key_id: str
    sealed: int
    source: str


class AuditEntry(Answer):
    id: int
    at: Moment
    actor: str
    actor_email: str | None
    action: str
    target: str
    target_email: str | None
    detail: dict[str, Any] | None


class Tokens(Page[Token]): ...


class Users(Page[User]): ...


class Workspaces(Page[Workspace]): ...


class Members(Page[Member]): ...


class Secrets(Page[Secret]): ...


class Audit(Page[AuditEntry]): ...
