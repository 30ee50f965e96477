"""Files in and out of a sandbox, as tars, by the sandbox's own tools."""

import shlex
from typing import Protocol

from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import MAX_OUTPUT, ExecResult

SEGMENT = MAX_OUTPUT
_SECONDS = 120.0
_NOT_THERE = 66
_SPOOL = "/tmp/.proctor-transfer"  # noqa: S108 - in the sandbox


class Script(Protocol):
    async def __call__(
        self, code: str, *, stdin: bytes | None = None, seconds: float, max_output: int = MAX_OUTPUT
    ) -> ExecResult: ...


async def put(script: Script, source: bytes, target_dir: str) -> None:
    target = shlex.quote(target_dir)
    extract = f"tar -xof - -C {target}"
    if len(source) <= SEGMENT:
        code = f'mkdir -p -- {target} && base64 -d <"$stdin" | {extract}'
        _check(await script(code, stdin=source, seconds=_SECONDS), f"put into {target_dir}")
        return
    spool = f"{_SPOOL}-{id(source):x}"
    try:
        for start in range(0, len(source), SEGMENT):
            piece = source[start : start + SEGMENT]
            _check(
                await script(f'base64 -d <"$stdin" >>{spool}', stdin=piece, seconds=_SECONDS),
                f"put into {target_dir}",
            )
        code = f"mkdir -p -- {target} && {extract} <{spool}"
        _check(await script(code, seconds=_SECONDS), f"put into {target_dir}")
    finally:
        await script(f"rm -f {spool}", seconds=_SECONDS)


async def extract(script: Script, archive: str, target_dir: str) -> None:
    code = f"tar -xof {shlex.quote(archive)} -C {shlex.quote(target_dir)}"
    _check(await script(code, seconds=_SECONDS), f"extracting {archive}")


async def get(script: Script, path: str, max_bytes: int) -> bytes:
    pack = f"""path={shlex.quote(path)}
pack() {{
  if [[ -d $path ]]; then tar -cf - -C "$path" .
  elif [[ -f $path ]]; then tar -chf - -C "$(dirname -- "$path")" -- "$(basename -- "$path")"
  else return {_NOT_THERE}; fi
}}
"""
    first = min(SEGMENT, max_bytes)
    result = await script(
        f'{pack}pack | head -c {first + 1}; exit "${{PIPESTATUS[0]}}"', seconds=_SECONDS, max_output=first
    )
    if result.returncode == _NOT_THERE:
        raise FileNotFoundError(path)
    if not result.truncated:
        # 1: a file changed while tar read it, which a living sandbox's logs do.
        return _check(result, f"get {path}", accept=(0, 1)).stdout
    if first == max_bytes:
        raise _too_large(path, max_bytes)
    return await _get_large(script, pack, path, max_bytes)


async def _get_large(script: Script, pack: str, path: str, max_bytes: int) -> bytes:
    spool = f"{_SPOOL}-{id(path):x}"
    pieces: list[bytes] = []
    size = 0
    try:
        packed = await script(f"{pack}pack | head -c {max_bytes + 1} >{spool}", seconds=_SECONDS)
        _check(packed, f"get {path}")
        while not pieces or len(pieces[-1]) == SEGMENT:
            code = f"dd if={spool} bs={SEGMENT} skip={len(pieces)} count=1 2>/dev/null"
            pieces.append(_check(await script(code, seconds=_SECONDS), f"get {path}").stdout)
            size += len(pieces[-1])
            if size > max_bytes:
                raise _too_large(path, max_bytes)
    finally:
        await script(f"rm -f {spool}", seconds=_SECONDS)
    return b"".join(pieces)


async def read(script: Script, path: str, max_bytes: int) -> bytes | None:
    """Raises transfer_too_large rather than returning a part of a file; at most 4 MiB can be asked for."""
    limit = min(max_bytes, SEGMENT)
    name = shlex.quote(path)
    code = f"[[ -f {name} ]] || exit {_NOT_THERE}; head -c {limit + 1} -- {name}"
    result = await script(code, seconds=_SECONDS, max_output=limit)
    if result.returncode == _NOT_THERE:
        return None
    if result.truncated:
        raise _too_large(path, limit)
    return _check(result, f"read {path}").stdout


def _too_large(path: str, max_bytes: int) -> SandboxError:
    return SandboxError(ErrorKind.TRANSFER_TOO_LARGE, f"{path} is larger than the {max_bytes:,} bytes allowed")


def _check(result: ExecResult, doing: str, accept: tuple[int, ...] = (0,)) -> ExecResult:
    if result.returncode in accept:
        return result
    said = result.stderr.decode(errors="replace").strip()[-500:]
    if "No space left on device" in said or "Disk quota exceeded" in said:
        raise SandboxError(ErrorKind.DISK_FULL, f"{doing}: the sandbox's disk is full")
    why = f"no end within {_SECONDS:.0f} s" if result.timed_out else said or f"return code {result.returncode}"
    raise SandboxError(ErrorKind.TRANSFER_FAILED, f"{doing} failed: {why}")
