"""What the models of all our files have in common."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A frozen table; `legacy_keys` are older spellings it reads, which are not unknown."""

    model_config = ConfigDict(frozen=True)
    legacy_keys: ClassVar[frozenset[str]] = frozenset[str]()
