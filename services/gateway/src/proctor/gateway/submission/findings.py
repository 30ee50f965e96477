"""What is wrong with a body, at the key of the submit TOML where the user wrote it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails
from rapidfuzz import fuzz, process

from proctor.contracts import config as sections
from proctor.contracts.config import RunConfig
from proctor.gateway.billing.budget import RunBudget
from proctor.gateway.text import Place
from proctor.service.errors import Invalid, Issue

_SECTIONS: Final[dict[tuple[str, ...], type[BaseModel]]] = {
    ("experiment",): sections.Experiment,
    ("tasks",): sections.Tasks,
    ("agents",): sections.Agent,
    ("execution",): sections.Execution,
    ("budget",): RunBudget,
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
    "literal_error": "must be one of {expected}",
    "bool_type": "must be true or false",
    "timezone_aware": "must have a time zone",
}
MOST: Final = 100
"""Problems that are told one by one. What is wrong in thousands of places is wrong in one way."""
_CORRECTED: Final = 0.6
_LONGEST: Final = 128
"""Characters of a name that a message repeats."""
_BLANK: Final = r"\S"
_ORDER: Final = (*RunConfig.model_fields, "budget")


def invalid(issues: Iterable[Issue]) -> Invalid:
    """Each issue once, in the order of the TOML."""
    found = sorted(dict.fromkeys(issues), key=lambda issue: _order(issue.key))
    told = found[:MOST]
    if len(found) > MOST:
        told.append(more(found[MOST].key, len(found) - MOST))
    text = "; ".join(f"{issue.key}: {issue.message}" for issue in told[:3])
    rest = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return Invalid(text + rest, issues=tuple(told))


def more(key: str, count: int) -> Issue:
    """In place of those that aren't told."""
    return Issue(key, f"and {count:,} more problem{'' if count == 1 else 's'}")


def duplicates(key: str, names: Sequence[str]) -> Iterator[Issue]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Issue(key, f"{name!r} is there {count} times; name it once")


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    if len(word) > _LONGEST:
        return None
    found = process.extractOne(
        word.casefold(), list(known), scorer=fuzz.ratio, processor=str.casefold, score_cutoff=100 * _CORRECTED
    )
    return found[0] if found else None


def place_of(detail: ErrorDetails, at: Place = ()) -> Place:
    """Where the user wrote it. `at` is the place of what was validated."""
    place = (*at, *detail["loc"])
    place = place[:-1] if place[-1:] == ("[key]",) else place
    return (*place[:3], *place[4:]) if _model_type(place) else place


def issue_of(detail: ErrorDetails, at: Place = ()) -> Issue:
    place = place_of(detail, at)
    context = detail.get("ctx") or {}
    if detail["type"] == "string_pattern_mismatch" and context.get("pattern") == _BLANK:
        message = "must not be empty"
    else:
        message = _MESSAGES.get(detail["type"], detail["msg"]).format(**context)
    correction = None
    if detail["type"] == "extra_forbidden":
        model = _SECTIONS.get(_section((*at, *detail["loc"])), RunConfig)
        correction = closest(str(place[-1]), model.model_fields)
    return Issue(key_of(place), message, correction)


def _section(path: Place) -> tuple[str, ...]:
    return tuple(part for part in path[:-1] if isinstance(part, str))


def _model_type(place: Place) -> bool:
    """Whether pydantic says, after `agents[i].model`, as which type of model it read it."""
    return len(place) > 3 and (place[0], place[2]) == ("agents", "model") and place[3] in _MODEL_TYPES


def key_of(place: Place) -> str:
    """A place as a key of the TOML: `agents[0].model.model`."""
    text = ""
    for part in place:
        name = f"[{part}]" if isinstance(part, int) else part[:_LONGEST]
        text += f".{name}" if text and isinstance(part, str) else name
    return text


def _order(key: str) -> tuple[int, int, int]:
    """Section, index and field, by the order of the configuration's fields; what is in none of them comes first."""
    head, _, rest = key.partition(".")
    section, _, index = head.removesuffix("]").partition("[")
    field = rest.partition(".")[0].partition("[")[0]
    model = _SECTIONS.get((section,))
    fields = list(model.model_fields) if model else []
    return _rank(section, _ORDER), int(index) if index.isdecimal() else -1, _rank(field, fields)


def _rank(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else -1
