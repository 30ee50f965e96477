"""Numbers as people read them. Unknown is a dash, never 0."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

type Figure = dict[str, Any]

DASH: Final = "-"
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def percent(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f}%"


def interval(rate: Figure | None) -> str:
    if not rate or rate.get("ci_low") is None or rate.get("ci_high") is None:
        return DASH
    return f"{100 * rate['ci_low']:.1f} to {100 * rate['ci_high']:.1f}"


def rate(figure: Figure | None) -> str:
    """A rate's value, marked when results are still missing."""
    if not figure:
        return DASH
    return percent(figure.get("value")) + ("*" if figure.get("provisional") else "")


def provisional(figures: Iterable[Figure | None]) -> Iterator[str]:
    """What `rate`'s mark is, where one has it."""
    if any(figure and figure.get("provisional") for figure in figures):
        yield "* provisional: attempts without a result"


def seconds(value: float | None) -> str:
    """`0.42 s`, `12.3 s`, `4m 05s`, `2h 07m`."""
    if value is None:
        return DASH
    if value < 10:
        return f"{value:.2f} s"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def dollars(value: float | None) -> str:
    if value is None:
        return DASH
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def count(value: float | None) -> str:
    """`980`, `12.3k`, `4.5M`."""
    if value is None:
        return DASH
    if value < 10_000:
        return f"{value:.0f}"
    return f"{value / 1_000:.1f}k" if value < 999_950 else f"{value / 1_000_000:.1f}M"


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def age(text: str | None, now: datetime | None = None) -> str:
    """How long ago, in its largest unit."""
    then = moment(text)
    if then is None:
        return DASH
    passed = max(0, int(((now or datetime.now(UTC)) - then).total_seconds()))
    size, unit = next(((size, unit) for size, unit in _UNITS if passed >= size), (1, "s"))
    return f"{passed // size}{unit} ago"


def duration(start: str | None, end: str | None) -> str:
    first, last = moment(start), moment(end)
    return DASH if first is None else seconds(((last or datetime.now(UTC)) - first).total_seconds())
