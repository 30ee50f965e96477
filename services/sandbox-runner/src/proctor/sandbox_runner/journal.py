"""The epochs a runner claimed and has not cleaned yet, on disk: whoever comes after it can say that they are."""

from pathlib import Path

from proctor.contracts.messages import Held


class Journal:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, held: Held) -> None:
        self._file(held).write_text(held.model_dump_json())

    def remove(self, held: Held) -> None:
        self._file(held).unlink(missing_ok=True)

    def entries(self) -> list[Held]:
        """What was held; a file cut short by a crash was no claim yet."""
        files = (file.read_text() for file in sorted(self._folder.iterdir()))
        return [Held.model_validate_json(text) for text in files if text.endswith("}")]

    def _file(self, held: Held) -> Path:
        return self._folder / f"{held.run}.{held.attempt}.{held.epoch}"
