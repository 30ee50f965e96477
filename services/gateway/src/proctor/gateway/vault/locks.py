"""What a run's tasks read, from the run's lock. Locks are named by digest, so a kept one is never out of date."""

from collections import OrderedDict
from typing import Final

from proctor.contracts.manifest import RunLock
from proctor.objects import Objects

KEPT: Final = 64


class NeededVariables:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._kept: OrderedDict[str, tuple[tuple[str, ...], ...]] = OrderedDict()

    async def of(self, lock: str, task: int) -> tuple[str, ...]:
        """Raises `ObjectMissing`."""
        tasks = self._kept.get(lock)
        if tasks is None:
            read = RunLock.model_validate_json(await self._objects.get(lock))
            tasks = tuple(task.needed_variables for task in read.tasks)
        self._kept[lock] = tasks
        self._kept.move_to_end(lock)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return tasks[task]
