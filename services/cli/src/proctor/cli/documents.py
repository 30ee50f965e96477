"""Parts of the API's JSON: what is absent or null is empty."""

from typing import Any, cast

type Json = dict[str, Any]


def part(document: Json, key: str) -> Json:
    return cast("Json", document.get(key) or {})


def parts(document: Json, key: str) -> list[Json]:
    return cast("list[Json]", document.get(key) or [])


def texts(document: Json, key: str) -> list[str]:
    return cast("list[str]", document.get(key) or [])
