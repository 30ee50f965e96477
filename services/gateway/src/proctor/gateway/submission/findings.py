"""What is wrong with a body, at the key of the submit TOML where the user wrote it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from proctor.contracts import config as sections
from proctor.contracts.config import RunConfig
from proctor.service.errors import Invalid, Issue

_SECTIONS: Final[dict[tuple[str, ...], type[BaseModel]]] = {
    ("experiment",): sections.Experiment,
    ("tasks",): sections.Tasks,
    ("agents",): sections.Agent,
    ("execution",): sections.Execution,
    ("agents", "model", "provider"): sections.ProviderModel,
    ("agents", "model", "endpoint"): sections.EndpointModel,
    ("agents", "model", "hosted"): sections.HostedModel,
}
_MODEL_TYPES: Final = ("provider", "endpoint", "hosted")
_MESSAGES: Final = {
    "missing": "is required",
    "extra_forbidden": "isn't a key of this section",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "isn't of the form {pattern}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "needs a `type`: provider, endpoint or hosted",
    "value_error": "{error}",
}
_BLANK: Final = r"\S"


def invalid(issues: Sequence[Issue]) -> Invalid:
    text = "; ".join(f"{issue.key}: {issue.message}" for issue in issues[:3])
    more = f"; and {len(issues) - 3} more" if len(issues) > 3 else ""
    return Invalid(text + more, issues=tuple(issues))


def duplicates(key: str, names: Sequence[str]) -> Iterator[Issue]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Issue(key, f"{name!r} is there {count} times; name it once")


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in candidates}
    if word.casefold() in folded:
        return folded[word.casefold()]
    return next(iter(get_close_matches(word, candidates, n=1, cutoff=0.6)), None)


def issue_of(detail: ErrorDetails) -> Issue:
    path = [part for part in detail["loc"] if part != "[key]"]
    tag = path.index("model") + 1 if "model" in path else len(path)
    section = [part for part in path[:-1] if isinstance(part, str)]
    shown = [part for position, part in enumerate(path) if not (position == tag and part in _MODEL_TYPES)]
    context = detail.get("ctx") or {}
    if detail["type"] == "string_pattern_mismatch" and context.get("pattern") == _BLANK:
        message = "must not be empty"
    else:
        message = _MESSAGES.get(detail["type"], detail["msg"]).format(**context)
    correction = None
    if detail["type"] == "extra_forbidden":
        model = _SECTIONS.get(tuple(section))
        correction = closest(str(path[-1]), model.model_fields if model else RunConfig.model_fields)
    return Issue(_key(shown), message, correction)


def _key(path: Sequence[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
