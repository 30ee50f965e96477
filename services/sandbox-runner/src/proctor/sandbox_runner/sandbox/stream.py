"""Byte streams into a sandbox: a process's pipes, or an Engine's hijacked connection."""

import asyncio
import contextlib
from asyncio.subprocess import Process
from dataclasses import dataclass
from typing import Protocol

_CHUNK = 256 * 1024
_STDOUT = 1


class Stream(Protocol):
    async def read(self) -> bytes:
        """Some bytes, or none at the end."""
        ...

    async def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PipeStream:
    process: Process

    async def read(self) -> bytes:
        return await self.process.stdout.read(_CHUNK) if self.process.stdout else b""

    async def write(self, data: bytes) -> None:
        if self.process.stdin is None:
            raise BrokenPipeError
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()


@dataclass(frozen=True, slots=True)
class EngineStream:
    """An exec's connection: the Engine sends frames of stream number, three zeros, big-endian size, payload."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self) -> bytes:
        try:
            while True:
                header = await self.reader.readexactly(8)
                payload = await self.reader.readexactly(int.from_bytes(header[4:8]))
                if header[0] == _STDOUT and payload:
                    return payload
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            self.writer.close()
