"""Task lists by object name. They are named by digest, so a kept one is never out of date."""

from collections import OrderedDict
from typing import Final

from proctor.contracts.manifest import Manifest
from proctor.objects import Objects

KEPT: Final = 8


class Manifests:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._kept: OrderedDict[str, Manifest] = OrderedDict()

    async def get(self, name: str) -> Manifest:
        """Raises `ObjectMissing`."""
        manifest = self._kept.get(name) or Manifest.model_validate_json(await self._objects.get(name))
        self._kept[name] = manifest
        self._kept.move_to_end(name)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return manifest
