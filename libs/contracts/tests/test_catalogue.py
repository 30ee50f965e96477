"""Every event type has a row, and every row makes a readable line of every event of its type."""

import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from proctor.contracts import events
from proctor.contracts.catalogue import CATALOGUE, LEVELS, STEPS, Language, Level, Names, Step, level_of, line
from proctor.contracts.events import AgentFinished, AttemptGraded, Event, RunFinished, SandboxReady
from proctor.contracts.events.attempt import GradeSeconds


def members(union: Any) -> Iterator[type[BaseModel]]:
    for part in get_args(union):
        if isinstance(part, type):
            yield part
        elif isinstance(part, types.UnionType) or get_args(part):
            yield from members(part)


CLASSES = {
    kind.model_fields["type"].default: kind
    for union in (events.RunEvent, events.BenchmarkEvent)
    for kind in members(union)
}
LANGUAGES: tuple[Language, ...] = get_args(Language)


def test_an_agent_that_is_stopped_is_named(make_event: Callable[..., Event]) -> None:
    asked = make_event("run.agent_stop_requested", agent=1, reason="too dear", requested_by="owner")
    cancelled = make_event("run.attempts_cancelled", agent=1, reason="too dear")
    names = Names(agents=["oracle", "nop"])
    assert line(asked, "en", names) == "stop of nop requested: too dear"
    assert line(cancelled, "en", names) == "attempts without an outcome are cancelled, those of nop: too dear"
    assert line(asked) == "stop of #1 requested: too dear"


def test_every_event_type_has_a_row_and_every_row_an_event_type() -> None:
    assert len(CLASSES) > 30
    assert set(CATALOGUE) == set(CLASSES)


def test_every_level_and_step_is_explained_and_used() -> None:
    assert set(LEVELS) == set(Level) == {entry.level for entry in CATALOGUE.values()}
    assert set(STEPS) == set(Step) == {entry.step for entry in CATALOGUE.values()}


def instance(kind: type[BaseModel], text: str, number: int, *, optional: bool) -> Any:
    """An event with the fields that lines show filled in; nested models stay unset."""
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if name == "type":
            values[name] = field.default
        elif name == "attempt":
            values[name] = "1-0-2"
        elif not optional and not field.is_required():
            values[name] = field.default
        else:
            values[name] = _value(hints[name], text, number)
    return kind.model_construct(**values)


def _value(hint: Any, text: str, number: int) -> Any:
    kinds = {hint, *get_args(hint)}
    return float(number) if float in kinds else number if int in kinds else text


@pytest.mark.parametrize("event_type", sorted(CLASSES))
@settings(max_examples=20)
@given(text=st.text(max_size=30), number=st.integers(0, 10**6), optional=st.booleans())
def test_a_line_formats_whatever_the_fields_hold(event_type: str, text: str, number: int, optional: bool) -> None:
    event = instance(CLASSES[event_type], text, number, optional=optional)
    for language in LANGUAGES:
        written = line(event, language, Names(agents=("a", "codex {0}"), tasks=("hello {world}",)))
        assert written.strip()
        assert "\n" not in written
        about_attempt = hasattr(event, "attempt")
        assert ("hello {world}" in written) == about_attempt
        assert ("codex {0}" in written) == (about_attempt or getattr(event, "agent", None) == 1)
    assert level_of(event) in LEVELS


def test_lines_as_a_reader_sees_them() -> None:
    names = Names(agents=("oracle",), tasks=("acme/hello",))
    ready = SandboxReady(
        attempt="0-0-1", epoch=1, sandbox="s", backend="bubblewrap", image="i", seconds=0.04, note="no engine"
    )
    ended = AgentFinished(attempt="0-0-2", epoch=1, step=0, kind="agent_timeout", message="after 900 s", seconds=900.04)
    graded = AttemptGraded(
        attempt="0-7-1",
        epoch=1,
        round=1,
        rewards={"reward": "1.0"},
        score="1.0",
        threshold="0.5",
        passed=True,
        mode="shared",
        seconds=GradeSeconds(startup=0, transfer=0, run=1, parse=0),
    )
    assert line(ready, "en", names) == "oracle, acme/hello, attempt 1: sandbox ready in 0.0 s, bubblewrap (no engine)"
    assert line(ended, "en", names) == (
        "oracle, acme/hello, attempt 2: agent ended after 900.0 s, step 1, agent_timeout: after 900 s"
    )
    assert line(graded, "en", names) == "oracle, #7, attempt 1: graded 1.0 against 0.5, passed"
    assert line(graded, "zh") == "#0，#7，第 1 次尝试：评分 1.0，阈值 0.5，通过"
    assert line(RunFinished(passed=1, failed=2, errored=0, cancelled=0)) == (
        "finished: 1 passed, 2 failed, 0 errored, 0 cancelled"
    )


def test_an_error_kind_makes_the_line_louder() -> None:
    clean = AgentFinished(attempt="0-0-1", epoch=1, seconds=1)
    assert level_of(clean) is Level.INFO
    assert level_of(clean.model_copy(update={"kind": "agent_timeout"})) is Level.WARNING
