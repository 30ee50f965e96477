import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.sandbox_runner.sandbox import wire

values = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)
variables = st.dictionaries(st.from_regex(r"V_[A-Za-z0-9_]{0,8}", fullmatch=True), values, min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(variables)
def test_bash_gets_exactly_the_values(env: dict[str, str]) -> None:
    show = "".join(f'printf "%s\\0" "${name}"; ' for name in env)
    done = subprocess.run(["bash", "-c", wire.exports(env) + show], capture_output=True, check=True, env={})
    assert done.stdout.decode().split("\0")[:-1] == list(env.values())


@given(st.binary(max_size=200))
def test_no_line_of_a_sandbox_breaks_the_reader(line: bytes) -> None:
    answer = wire.parse(line)
    assert answer is None or line.startswith(f"{answer.word} ".encode())


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"done 7 0", wire.Answer("done", 7, b"0")),
        (b"procs 3 1:2:3 4:5:6", wire.Answer("procs", 3, b"1:2:3 4:5:6")),
        (b"end 3", wire.Answer("end", 3, b"")),
        (b"done x 0", None),
        (b"done -1 0", None),
        (b"done 99999999999999999999 0", None),
        (b"", None),
        (b"bash: line 1: 7 Killed", None),
    ],
)
def test_answers(line: bytes, answer: wire.Answer | None) -> None:
    assert wire.parse(line) == answer


def test_a_command_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        wire.encode("echo \0")
