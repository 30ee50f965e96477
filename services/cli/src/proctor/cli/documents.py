"""Parts of the API's JSON: what is absent or null is empty."""

from typing import Any, Final, cast

type Json = dict[str, Any]

ENDED: Final = frozenset({"finished", "failed", "stopped"})
"""The statuses of a run that is over."""


def part(document: Json, key: str) -> Json:
    return cast("Json", document.get(key) or {})


def parts(document: Json, key: str) -> list[Json]:
    return cast("list[Json]", document.get(key) or [])


def texts(document: Json, key: str) -> list[str]:
    return cast("list[str]", document.get(key) or [])


def named(name: str, text: str) -> str:
    """`name: text`, also where the text begins with the name already."""
    return text if text.startswith(f"{name}:") else f"{name}: {text}"
