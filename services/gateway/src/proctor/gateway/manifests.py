"""Task lists by object name. They are named by digest, so a kept one is never out of date."""

from collections import OrderedDict
from typing import Final, NamedTuple

from proctor.contracts.manifest import Manifest
from proctor.objects import Objects

KEPT: Final = 8
KEPT_HEADS: Final = 4096


class TaskSetHead(NamedTuple):
    """A task set without its tasks."""

    name: str
    description: str | None
    recommended: bool
    task_count: int


class Manifests:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._kept: OrderedDict[str, Manifest] = OrderedDict()
        self._heads: OrderedDict[str, tuple[TaskSetHead, ...]] = OrderedDict()

    async def get(self, name: str) -> Manifest:
        """Raises `ObjectMissing`."""
        manifest = self._kept.get(name) or Manifest.model_validate_json(await self._objects.get(name))
        _keep(self._kept, name, manifest, KEPT)
        return manifest

    async def task_sets(self, name: str) -> tuple[TaskSetHead, ...]:
        """For lists: they are small, so many are kept. Raises `ObjectMissing`."""
        heads = self._heads.get(name)
        if heads is None:
            heads = tuple(
                TaskSetHead(one.name, one.description, one.recommended, len(one.task_names))
                for one in (await self.get(name)).task_sets
            )
        _keep(self._heads, name, heads, KEPT_HEADS)
        return heads


def _keep[Kept](kept: OrderedDict[str, Kept], name: str, value: Kept, most: int) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > most:
        kept.popitem(last=False)
