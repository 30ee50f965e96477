import posixpath
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.sandbox_runner.sandbox.dockerfile import Copy, Recipe, parse
from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError

ACCEPTED = [
    ("FROM debian", Recipe("/", (), {}, ())),
    ("# a comment\n\nFROM debian AS only\nLABEL a=b\nEXPOSE 80\nCMD bash", Recipe("/", (), {}, ())),
    ("FROM x\nWORKDIR /a\nWORKDIR b/c\nWORKDIR ../d", Recipe("/a/b/d", ("/a", "/a/b/c", "/a/b/d"), {}, ())),
    (
        "FROM x\nENV A=1 B=\"two words\" \\\n  C='3'\nENV D four words",
        {"A": "1", "B": "two words", "C": "3", "D": "four words"},
    ),
    ("FROM x\nENV ROOT=/srv\nENV APP=$ROOT/app\nWORKDIR ${APP}", "/srv/app"),
    ("FROM x\nCOPY a.txt /b.txt", (Copy(("a.txt",), "/b.txt"),)),
    ("FROM x\nWORKDIR /app\nCOPY . .", (Copy((".",), "/app/"),)),
    ("FROM x\nWORKDIR /app\nCOPY a b c/", (Copy(("a", "b"), "/app/c/"),)),
    ("FROM x\nCOPY a b /c", (Copy(("a", "b"), "/c/"),)),
    ('FROM x\nCOPY ["with space", "/to here/"]', (Copy(("with space",), "/to here/"),)),
    ("FROM x\nCOPY --chmod=755 run.sh /", (Copy(("run.sh",), "/", 0o755),)),
    ("FROM x\nCOPY --chown=root:root a /a", (Copy(("a",), "/a"),)),
    ("FROM x\nADD data /data", (Copy(("data",), "/data"),)),
    ("FROM x\nWORKDIR /w\ncopy \\\n  # in between\n  a.txt \\\n  sub/", (Copy(("a.txt",), "/w/sub/"),)),
]

REFUSED = [
    ("FROM x\nRUN apt-get update", "line 2: RUN"),
    ("FROM x\nLABEL a=b\nUSER nobody", "line 3: USER"),
    ('FROM x\nENTRYPOINT ["x"]', "line 2: ENTRYPOINT"),
    ("FROM x\nVOLUME /data", "line 2: VOLUME"),
    ('FROM x\nSHELL ["sh"]', "line 2: SHELL"),
    ("ARG V=1\nFROM x", "line 1: ARG"),
    ("FROM x\nHEALTHCHECK NONE", "line 2: HEALTHCHECK"),
    ("FROM a AS b\nFROM c\nCOPY --from=b /x /x", "line 2: FROM of a second stage"),
    ("FROM a\nCOPY --from=b /x /x", "line 2: COPY --from=b"),
    ("FROM a\nCOPY --chown=app a /a", "line 2: COPY --chown=app"),
    ("FROM a\nCOPY <<EOF /a\nhello\nEOF", "line 2: COPY of this form"),
    ("FROM a\nADD https://example.org/x.txt /x", "line 2: ADD of https://example.org/x.txt"),
    ("FROM a\nADD files.tar.gz /x", "line 2: ADD of files.tar.gz"),
    ("FROM a\nADD git@example.org:x/y.git /x", "line 2: ADD of git@"),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_accepted(text: str, expected: Any) -> None:
    recipe = parse(text)
    part = {Recipe: recipe, dict: recipe.env, str: recipe.workdir, tuple: recipe.copies}[type(expected)]
    assert part == expected


@pytest.mark.parametrize(("text", "named"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(SandboxError) as caught:
        parse(text)
    assert caught.value.kind is ErrorKind.UNSUPPORTED_ENVIRONMENT
    assert named in caught.value.message


names = st.text(string.ascii_lowercase, min_size=1, max_size=5)
steps = st.lists(st.one_of(names, names.map(lambda name: f"/{name}"), st.just(".."), st.just(".")), max_size=8)


@given(steps)
def test_workdirs_chain_as_a_shell_would(parts: list[str]) -> None:
    expected = "/"
    for part in parts:
        expected = posixpath.normpath(posixpath.join(expected, part))
    assert parse("FROM x\n" + "".join(f"WORKDIR {part}\n" for part in parts)).workdir == expected
