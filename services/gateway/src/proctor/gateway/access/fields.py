"""What names, e-mail addresses and repositories may look like."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from proctor.contracts.ids import SYSTEM_WORKSPACE
from proctor.gateway.text import Plain

_WORKSPACE: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_JOINERS: Final = " \u200c\u200d"
_EMAIL: Final = re.compile(r"[^\s@]{1,64}@[^\s@]{1,189}")
_REPO: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,38}/[a-z0-9._-]{1,100}")


def _workspace(text: str) -> str:
    if _WORKSPACE.fullmatch(text) is None:
        raise ValueError("must be 1 to 63 of a-z, 0-9 and . _ - and begin with a letter or digit")
    if text == SYSTEM_WORKSPACE:
        raise ValueError(f"must not be {SYSTEM_WORKSPACE!r}, which is reserved for the platform; choose another")
    return text


def _email(text: str) -> str:
    if _EMAIL.fullmatch(text) is None:
        raise ValueError("must be an e-mail address like ada@example.org")
    return text


def _repo(text: str) -> str:
    """As GitHub has it, whose names differ by more than their case."""
    folded = text.lower()
    if _REPO.fullmatch(folded) is None:
        raise ValueError("must be a GitHub repository as owner/name")
    return folded


def _label(text: str) -> str:
    if not text.strip() or text != text.strip():
        raise ValueError("must not be empty, nor begin or end with a space")
    if not text.strip(_JOINERS):
        raise ValueError("must have a character that can be seen")
    return text


WorkspaceName = Annotated[str, AfterValidator(_workspace)]
Email = Annotated[Plain, AfterValidator(_email)]
Repo = Annotated[str, AfterValidator(_repo)]
Label = Annotated[Plain, Field(min_length=1, max_length=64), AfterValidator(_label)]
"""A name to show."""
