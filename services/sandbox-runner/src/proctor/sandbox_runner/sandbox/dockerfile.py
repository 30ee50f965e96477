"""The part of a Dockerfile that needs no engine: WORKDIR, ENV and COPY of the environment's own files."""

import io
import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any, cast

from dockerfile_parse import DockerfileParser
from dockerfile_parse.util import WordSplitter

from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError

_ARCHIVE = re.compile(r"\.(tar|tgz|tbz2?|txz|tar\.\w+)$")
_REMOTE = re.compile(r"^(https?|git|ssh)://|^git@")


@dataclass(frozen=True, slots=True)
class Copy:
    """`target` is absolute; it ends in "/" when it names a folder to copy into. `mode` is that of --chmod."""

    sources: tuple[str, ...]
    target: str
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    workdir: str
    workdirs: tuple[str, ...]
    env: Mapping[str, str]
    copies: tuple[Copy, ...]


@dataclass(slots=True)
class _Draft:
    env: Mapping[str, str]
    workdirs: list[str]
    copies: list[Copy]
    stages: int = 0


def parse(text: str) -> Recipe:
    """Raises unsupported_environment that names the first instruction which needs a container engine."""
    content = cast("IO[str]", io.BytesIO(text.encode()))  # the stubs are wrong: it wants bytes
    parser = DockerfileParser(fileobj=content)
    lines = cast("list[dict[str, Any]]", parser.structure)
    draft = _Draft(env=cast("dict[str, str]", parser.envs), workdirs=[], copies=[])
    for line in lines:
        name: str = line["instruction"]
        handle = _INSTRUCTIONS.get(name)
        if handle is None:
            raise _unsupported(name, line["startline"], "")
        handle(draft, line)
    workdir = draft.workdirs[-1] if draft.workdirs else "/"
    return Recipe(workdir, tuple(draft.workdirs), dict(draft.env), tuple(draft.copies))


def _unsupported(name: str, line: int, why: str) -> SandboxError:
    return SandboxError(
        ErrorKind.UNSUPPORTED_ENVIRONMENT,
        f"environment/Dockerfile line {line + 1}: {name}{why} needs a container engine; "
        "bubblewrap applies only WORKDIR, ENV, and COPY or ADD of the environment's own files",
    )


def _from(draft: _Draft, line: dict[str, Any]) -> None:
    draft.stages += 1
    if draft.stages > 1:
        raise _unsupported("FROM", line["startline"], " of a second stage")


def _workdir(draft: _Draft, line: dict[str, Any]) -> None:
    here = draft.workdirs[-1] if draft.workdirs else "/"
    path = "".join(_words(draft, line["value"]))
    draft.workdirs.append(posixpath.normpath(posixpath.join(here, path)))


def _copy(draft: _Draft, line: dict[str, Any]) -> None:
    name: str = line["instruction"]
    words = _words(draft, line["value"])
    mode = None
    while words and words[0].startswith("--"):
        flag = words.pop(0)
        if re.fullmatch(r"--chmod=[0-7]{3,4}", flag):
            mode = int(flag.partition("=")[2], 8)
        elif flag not in {"--chown=root", "--chown=root:root", "--chown=0:0", "--link"}:
            raise _unsupported(name, line["startline"], f" {flag}")
    if len(words) < 2 or words[0].startswith("<<"):
        raise _unsupported(name, line["startline"], " of this form")
    *sources, target = words
    for source in sources:
        if name == "ADD" and (_REMOTE.search(source) or _ARCHIVE.search(source)):
            raise _unsupported(name, line["startline"], f" of {source}")
    here = draft.workdirs[-1] if draft.workdirs else "/"
    folder = "/" if target.endswith(("/", "/.")) or target == "." or len(sources) > 1 else ""
    where = posixpath.normpath(posixpath.join(here, target)).rstrip("/") + folder
    draft.copies.append(Copy(tuple(sources), where or "/", mode))


def _words(draft: _Draft, value: str) -> list[str]:
    if value.lstrip().startswith("["):
        try:
            return [str(word) for word in json.loads(value)]
        except ValueError:
            pass  # Docker takes a list that is not JSON as words, too
    return [word for word in WordSplitter(value, args={}, envs=dict(draft.env)).split() if word]


def _ignore(draft: _Draft, line: dict[str, Any]) -> None: ...


# CMD and EXPOSE change nothing in a sandbox, with Docker either.
_INSTRUCTIONS: Mapping[str, Callable[[_Draft, dict[str, Any]], None]] = {
    "FROM": _from,
    "WORKDIR": _workdir,
    "COPY": _copy,
    "ADD": _copy,
    "ENV": _ignore,  # DockerfileParser.envs has them
    "COMMENT": _ignore,
    "LABEL": _ignore,
    "MAINTAINER": _ignore,
    "CMD": _ignore,
    "EXPOSE": _ignore,
}
