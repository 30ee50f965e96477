"""The authenticated caller and the roles."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    def at_least(self, role: "Role") -> bool:
        return _RANK[self] >= _RANK[role]


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Principal:
    """A user in one workspace. Who isn't in any has an empty one, and only where a route needs none."""

    user: str
    user_name: str
    email: str
    workspace: str
    workspace_name: str
    role: Role
    token_id: str = ""
    token_name: str = ""
    expires_at: datetime | None = None
    operator: bool = False
    """Makes workspaces and users."""

    def may(self, role: Role) -> bool:
        """Whether the caller has that role or a higher one."""
        return self.role.at_least(role)
