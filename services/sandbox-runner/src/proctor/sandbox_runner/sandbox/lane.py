"""The runner's end of one lane: requests go out, answers find the call that waits for them."""

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proctor.sandbox_runner.sandbox import wire
from proctor.sandbox_runner.sandbox.stream import Stream

_CHECKS = 1_000_000_000  # checks answer to their own numbers
_LOOK_AGAIN = (0.25, 2.0)  # seconds: the first look, and the longest pause between looks
_ANSWER_WITHIN = 30.0


class LaneLost(Exception):
    """The loop in the sandbox, or the part of it that ran this command, is gone."""


def _returncode() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Run:
    """One command under way; `returncode` is set when it ends. `bounded`: its code keeps its output short itself."""

    number: int
    limit: int
    bounded: bool = False
    returncode: asyncio.Future[int] = field(default_factory=_returncode)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)


class Lane:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._runs: dict[int, Run] = {}
        self._answers: dict[int, asyncio.Future[wire.Answer]] = {}
        self._processes: dict[int, list[str]] = {}
        self._turn = asyncio.Lock()
        self._accepted: asyncio.Future[wire.Answer] | None = None
        self._table: Mapping[str, Callable[[wire.Answer], None]] = {
            "o": self._on_output,
            "e": self._on_output,
            "done": self._on_done,
            "procs": self._on_processes,
        }
        self.lost = False
        self._pump = asyncio.create_task(self._receive())

    @classmethod
    async def open(cls, stream: Stream, number: int) -> "Lane":
        """Send the loop its text and wait until it answers."""
        lane = cls(stream)
        try:
            await lane._write(wire.SCRIPT)
            await lane.ask("hello", number)
        except BaseException:
            lane.close()
            raise
        return lane

    async def ask(self, op: str, number: int, argument: str = "", body: bytes = b"") -> wire.Answer:
        """A request the outer loop answers by itself."""
        answer = self._expect(number)
        await self._write(wire.request(op, number, argument, body))
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                return await answer
        except TimeoutError:
            self.close()
            raise LaneLost from None
        finally:
            self._answers.pop(number, None)

    async def processes(self, number: int) -> list[str]:
        """Every process alive, as `pid:start time:tag`."""
        self._processes[number] = []
        await self.ask("snapshot", number)
        return self._processes.pop(number)

    def begin(self, run: Run) -> None:
        """Listen for a command's output until `forget`."""
        if self.lost:
            raise LaneLost
        self._runs[run.number] = run

    def forget(self, run: Run) -> None:
        self._runs.pop(run.number, None)

    async def run(self, run: Run, files: Mapping[str, bytes], code: bytes) -> int:
        """Put the files into the lane's folder, evaluate `code`, and wait for its return code."""
        for name, content in files.items():
            await self.put(run.number, name, content)
        kept = "all" if run.bounded else str(wire.kibibytes(run.limit))
        await self._send("run", run.number, kept, code)
        return await self._patiently(run.returncode, run.number)

    async def put(self, number: int, name: str, content: bytes) -> None:
        """Append to a file in the lane's folder."""
        for start in range(0, len(content), wire.FRAME):
            await self._send("put", number, name, content[start : start + wire.FRAME])

    async def _send(self, op: str, number: int, argument: str, body: bytes) -> None:
        """One frame to the worker. The next waits until this one was read, or the outer loop could block."""
        async with self._turn:
            if self._accepted:
                with contextlib.suppress(LaneLost):
                    await self._patiently(self._accepted, number)
            self._accepted = self._expect(number)
            await self._write(wire.request(op, number, argument, body))
            await self._patiently(self._accepted, number)
            self._accepted = None

    def close(self) -> None:
        self._pump.cancel()
        self._lose()
        self._stream.close()

    async def _patiently[T](self, future: asyncio.Future[T], number: int) -> T:
        pause, longest = _LOOK_AGAIN
        while not (await asyncio.wait({future}, timeout=pause))[0]:
            pause = min(2 * pause, longest)
            answer = await self.ask("check", number + _CHECKS, str(number))
            if answer.word == "gone" and not future.done():
                self._accepted = None
                raise LaneLost
        return future.result()

    def _expect(self, number: int) -> asyncio.Future[wire.Answer]:
        if self.lost:
            raise LaneLost
        return self._answers.setdefault(number, asyncio.get_running_loop().create_future())

    async def _write(self, data: bytes) -> None:
        try:
            await self._stream.write(data)
        except (ConnectionError, RuntimeError) as error:
            self._lose()
            raise LaneLost from error

    async def _receive(self) -> None:
        rest = b""
        try:
            while chunk := await self._stream.read():
                *lines, rest = (rest + chunk).split(b"\n")
                for answer in map(wire.parse, lines):
                    if answer:
                        self._table.get(answer.word, self._on_answer)(answer)
                if len(rest) > wire.LONGEST_LINE:
                    return
        except (ConnectionError, binascii.Error):
            pass
        finally:
            self._lose()

    def _on_output(self, answer: wire.Answer) -> None:
        if run := self._runs.get(answer.number):
            target = run.stdout if answer.word == "o" else run.stderr
            if len(target) <= run.limit:
                target += base64.b64decode(answer.rest)

    def _on_done(self, answer: wire.Answer) -> None:
        run = self._runs.get(answer.number)
        if run and not run.returncode.done() and answer.rest.isdigit():
            run.returncode.set_result(int(answer.rest))

    def _on_processes(self, answer: wire.Answer) -> None:
        if answer.number in self._processes:
            self._processes[answer.number] += answer.rest.decode("ascii", "replace").split()

    def _on_answer(self, answer: wire.Answer) -> None:
        waiting = self._answers.pop(answer.number, None)
        if waiting and not waiting.done():
            waiting.set_result(answer)

    def _lose(self) -> None:
        self.lost = True
        waiting = [*self._answers.values(), *(run.returncode for run in self._runs.values())]
        self._answers.clear()
        for future in waiting:
            if not future.done():
                future.set_exception(LaneLost())
                future.exception()
