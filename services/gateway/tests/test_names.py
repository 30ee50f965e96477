"""Run names and cursors: pure."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.gateway.names import ADJECTIVES, NOUNS, free_name, stem
from proctor.gateway.paging import decode_cursor, encode_cursor
from proctor.service.errors import Invalid


@given(st.uuids())
def test_a_name_needs_no_quoting_anywhere(identifier: object) -> None:
    assert re.fullmatch(r"[a-z]+-[a-z]+", stem(str(identifier).replace("-", "")))


def test_the_words_differ() -> None:
    assert len(set(ADJECTIVES)) == len(ADJECTIVES) >= 60
    assert len(set(NOUNS)) == len(NOUNS) >= 60


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (set[str](), "calm-otter"),
        ({"calm-otter"}, "calm-otter-2"),
        ({"calm-otter", "calm-otter-3"}, "calm-otter-2"),
        ({"calm-otter", "calm-otter-2"}, "calm-otter-3"),
        ({"calm-otter-2"}, "calm-otter"),
    ],
)
def test_the_first_free_name(taken: set[str], expected: str) -> None:
    assert free_name("calm-otter", taken) == expected


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), st.integers(-(2**62), 2**62))
def test_a_cursor_comes_back(text: str, number: int) -> None:
    assert decode_cursor(encode_cursor(text, number), str, int) == (text, number)


@pytest.mark.parametrize("text", ["", "!", "WzFd2", encode_cursor("x"), encode_cursor(1, 2), encode_cursor(2**70), "é"])
def test_another_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid) as told:
        decode_cursor(text, int)
    assert told.value.issues[0].key == "cursor"
