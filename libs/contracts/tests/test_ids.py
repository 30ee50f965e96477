"""Ids are safe tokens of a subject, and one thing has one id."""

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from proctor.contracts import subjects
from proctor.contracts.ids import AttemptId, Cell, Token, is_token, new_id, run_id, sandbox_id, short_id


@given(st.text(max_size=130))
@example("abc\n")
@example("a.b")
@example("a b")
@example("*")
@example(">")
@example("")
@example("ünïcode")
@example("x" * 129)
def test_a_token_cannot_reach_beyond_its_place_in_a_subject(text: str) -> None:
    safe = 1 <= len(text) <= 128 and all(one.isascii() and (one.isalnum() or one in "_-") for one in text)
    assert is_token(text) is safe
    adapter = TypeAdapter(Token)
    if safe:
        assert adapter.validate_python(text) == text
    else:
        with pytest.raises(ValueError, match="pattern"):
            adapter.validate_python(text)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_cell_is_read_back_as_it_is_written(agent: int, task: int, number: int) -> None:
    text = TypeAdapter(AttemptId).validate_python(f"{agent}-{task}-{number}")
    assert Cell.parse(text) == (agent, task, number)
    assert str(Cell.parse(text)) == text
    assert is_token(sandbox_id("r1", text, 3))


def test_the_same_key_in_the_same_workspace_is_the_same_run() -> None:
    assert run_id("team", "nightly") == run_id("team", "nightly")
    assert run_id("team", "nightly") != run_id("other", "nightly")
    assert run_id("ab", "c") != run_id("a", "bc")
    assert uuid.UUID(run_id("team", "nightly")).version == 5
    assert run_id("team", None) != run_id("team", None)


def test_new_ids_are_tokens_and_differ() -> None:
    made = [new_id() for _ in range(100)] + [short_id() for _ in range(100)]
    assert all(is_token(one) for one in made)
    assert len(set(made)) == 200


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (subjects.run_events("team", "r1"), "ev.team.run.r1.>"),
        (subjects.benchmark_events("system", "b1"), "ev.system.benchmark.b1.>"),
        (subjects.work("attempt", "gpu"), "work.attempt.gpu"),
        (subjects.work_consumer("grade", "gpu"), "grade-gpu"),
        (subjects.beat("runner-1"), "beat.runner-1"),
        (subjects.lease_start("runner-1"), "lease.start.runner-1"),
        (subjects.lease_order("runner-1"), "lease.order.runner-1"),
        (subjects.lease_sweep("runner-1"), "lease.sweep.runner-1"),
        (subjects.vault_resolve("runner-1"), "vault.resolve.runner-1"),
        (subjects.sandbox("s1", "exec"), "sandbox.s1.exec"),
    ],
)
def test_subjects_are_those_of_the_design(built: str, text: str) -> None:
    assert built == text
