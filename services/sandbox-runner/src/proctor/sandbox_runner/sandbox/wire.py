"""The lane's vocabulary: requests to `lane.sh`, and the lines it answers with.

A request is `<op> <number> <size of body> [<argument>]`, a newline, and the body. An answer is one line, short
enough to leave in a single write, so that any process of the lane may write one at any time.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

FRAME = 32 * 1024  # below a pipe's 64 KiB, so that the outer loop never waits for the worker
LONGEST_LINE = 64 * 1024
LARGEST_OUTPUT = 16 << 20
LONGEST_ARGUMENT = 100_000  # the kernel refuses single arguments from 128 KiB on
SCRIPT = resources.files(__package__).joinpath("lane.sh").read_text("ascii").encode()
# Whatever holds stderr is out of a sandbox's reach, so that nothing can fill it by way of /proc/1/fd.
COMMAND = ("bash", "-p", "-c", 'exec 2>/dev/null; IFS= read -r -N "$1" lane && eval "$lane"', "lane", str(len(SCRIPT)))

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Answer:
    word: str
    number: int
    rest: bytes


def request(op: str, number: int, argument: str = "", body: bytes = b"") -> bytes:
    return f"{op} {number} {len(body)} {argument}\n".encode() + body


def parse(line: bytes) -> Answer | None:
    """An answer, or None for anything a sandbox may have written that isn't one."""
    word, _, tail = line.partition(b" ")
    number, _, rest = tail.partition(b" ")
    if not (word.isalpha() and number.isdigit() and len(number) < 12):
        return None
    return Answer(word.decode("ascii", "replace"), int(number), rest)


def exports(env: Mapping[str, str]) -> str:
    """Bash that exports `env`; the values reach the sandbox as text to evaluate, never as an argument."""
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            msg = f"env: {name!r} is not a variable name; use letters, digits and _, not starting with a digit"
            raise ValueError(msg)
        if "\0" in value:
            msg = f"env: the value of {name} has a NUL byte, which no environment can hold"
            raise ValueError(msg)
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())


def enter(cwd: str, env: Mapping[str, str]) -> str:
    """Bash that prepares a command's surroundings."""
    place = shlex.quote(cwd)
    return f"{exports(env)}cd -- {place} || {{ printf 'no working directory %s\\n' {place} >&2; exit 126; }}\n"


def kibibytes(max_output: int) -> int:
    """The size limit of a stream's file: one byte more than asked for tells that something was cut. 0 keeps none."""
    if not 0 <= max_output <= LARGEST_OUTPUT:
        msg = f"max_output: {max_output:,} is outside 0 to {LARGEST_OUTPUT:,} bytes; fetch more with get()"
        raise ValueError(msg)
    return max_output // 1024 + 1 if max_output else 0


def encode(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        msg = "command: has a NUL byte, which no shell can take"
        raise ValueError(msg)
    return data
