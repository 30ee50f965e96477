"""The workers, by their beats. Silence is measured on this process's own clock, and only while it can hear."""

from dataclasses import dataclass, field
from typing import Final

from proctor.contracts.messages import Beat, WorkerView

SILENCE_SECONDS: Final = 30.0
LONGEST_TICK: Final = 3.0
"""A longer gap means that this process itself was stopped: nobody's silence counts for it."""


@dataclass(slots=True)
class Worker:
    """`beat` is None for one that is known from the log alone."""

    name: str
    beat: Beat | None = None
    silence: float = 0.0


@dataclass(slots=True)
class Fleet:
    workers: dict[str, Worker] = field(default_factory=dict[str, Worker])

    def heard(self, beat: Beat) -> None:
        self.workers[beat.worker] = Worker(beat.worker, beat)

    def expect(self, name: str) -> None:
        """A worker that the log says holds something: it gets its 30 s to be heard."""
        self.workers.setdefault(name, Worker(name))

    def tick(self, seconds: float) -> list[Worker]:
        """Let time pass; those silent for too long are forgotten and returned."""
        if seconds > LONGEST_TICK:
            return []
        for worker in self.workers.values():
            worker.silence += seconds
        gone = [worker for worker in self.workers.values() if worker.silence >= SILENCE_SECONDS]
        for worker in gone:
            del self.workers[worker.name]
        return gone

    def capacity(self, pool: str, held: dict[str, int]) -> int:
        """Free places in a pool, `held` counting what each worker has by the log."""
        runners = [
            worker.beat
            for worker in self.workers.values()
            if worker.beat and worker.beat.kind == "runner" and not worker.beat.draining and pool in worker.beat.pools
        ]
        return sum(max(0, beat.capacity - held.get(beat.worker, 0)) for beat in runners)

    def has_runner(self, pool: str) -> bool:
        return any(
            worker.beat and worker.beat.kind == "runner" and pool in worker.beat.pools
            for worker in self.workers.values()
        )

    def view(self) -> tuple[WorkerView, ...]:
        ordered = sorted(self.workers.values(), key=lambda worker: worker.name)
        return tuple(
            WorkerView(beat=worker.beat, silence=round(worker.silence, 1)) for worker in ordered if worker.beat
        )
