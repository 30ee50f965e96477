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


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Principal:
    """A user in one workspace."""

    user: str
    user_name: str
    email: str
    workspace: str
    workspace_name: str
    role: Role
    expires_at: datetime | None = None

    def may(self, role: Role) -> bool:
        """Whether the caller has that role or a higher one."""
        return _RANK[self.role] >= _RANK[role]
