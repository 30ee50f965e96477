"""What there is to download of a run, and where the bytes of each file are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proctor.gateway.artifacts import phases
from proctor.gateway.outputs import queries
from proctor.gateway.outputs.artifact_files import listings
from proctor.gateway.outputs.members import Member
from proctor.gateway.outputs.snapshots import MADE, Snapshots
from proctor.gateway.outputs.spools import Spools
from proctor.gateway.outputs.tokens import Place, Snapshot
from proctor.service.errors import Invalid, Issue, NotFound
from proctor.service.postgres import Pool

DEFAULT_KINDS: Final = ("summary", "results")
KINDS: Final = ("summary", "results", "artifacts", "logs")
LOCK: Final = "lock"
LOCK_PATH: Final = "lock.json"
_ARTIFACTS: Final = "artifacts"
_KIND_BY_PATH: Final = {path: kind for kind, path in MADE.items()}


class File(NamedTuple):
    path: str
    kind: str
    place: Place

    @property
    def size(self) -> int:
        return self.place.size


class Manifest(NamedTuple):
    snapshot: Snapshot
    files: Sequence[File]

    @property
    def totals(self) -> dict[str, int]:
        return {"files": len(self.files), "bytes": sum(file.size for file in self.files)}


@dataclass(frozen=True, slots=True)
class Outputs:
    pool: Pool
    snapshots: Snapshots
    spools: Spools

    async def manifest(self, workspace: str, run: str, kinds: Sequence[str]) -> Manifest:
        """In the order of `kinds`. Raises `Conflicting` for a run that hasn't begun."""
        taken = await self.snapshots.take(workspace, run, kinds)
        by_kind: dict[str, Sequence[File]] = {
            kind: [File(MADE[kind], kind, Place(made.object, 0, made.size))] for kind, made in taken.files.items()
        }
        if _ARTIFACTS in kinds:
            by_kind[_ARTIFACTS] = await self._artifacts(taken.snapshot)
        if LOCK in kinds:
            by_kind[LOCK] = await self._lock(taken.run["lock"])
        return Manifest(taken.snapshot, [file for kind in kinds for file in by_kind[kind]])

    async def places(self, snapshot: Snapshot, paths: Sequence[str]) -> dict[str, Place]:
        """By path. Raises `NotFound`, naming those that the snapshot hasn't."""
        found = await self._kept(snapshot, paths)
        wanted = {path: name for path in paths if (name := _identity(path)) is not None}
        if wanted:
            files = await self._artifacts(snapshot, sorted(set(wanted.values())))
            found |= {file.path: file.place for file in files if file.path in wanted}
        if missing := [path for path in paths if path not in found]:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise NotFound(f"there is no file {missing[0]!r}{more} in this snapshot; ask for the manifest again")
        return found

    async def _kept(self, snapshot: Snapshot, paths: Sequence[str]) -> dict[str, Place]:
        """Those that aren't in a tar."""
        found: dict[str, Place] = {}
        kinds = {path: kind for path in paths if (kind := _KIND_BY_PATH.get(path)) is not None}
        if kinds:
            stored = await queries.stored(self.pool, snapshot)
            found |= {
                path: Place(stored[kind].object, 0, stored[kind].size) for path, kind in kinds.items() if kind in stored
            }
        if LOCK_PATH in paths and (run := await queries.run_row(self.pool, snapshot.workspace, snapshot.run)):
            found |= {file.path: file.place for file in await self._lock(run["lock"])}
        return found

    async def _artifacts(self, snapshot: Snapshot, identities: Sequence[str] | None = None) -> list[File]:
        rows = await queries.artifact_rows(self.pool, snapshot, identities)
        left = [(row["identity"], phases(row)) for row in rows]
        members = await listings(self.pool, self.spools, (name for _, objects in left for name in objects.values()))
        return [file for identity, objects in left for file in _files(identity, objects, members)]

    async def _lock(self, name: str | None) -> list[File]:
        """None for a run that was never planned, or whose lock is no longer stored."""
        try:
            return [File(LOCK_PATH, LOCK, Place(name, 0, (await self.spools.get(name)).size))] if name else []
        except NotFound:
            return []


def kind_of(path: str) -> Sequence[str]:
    """The kind that must be made to have the file; nothing for one that is there anyway."""
    kind = _KIND_BY_PATH.get(path)
    return () if kind is None else (kind,)


def read_kinds(text: str | None, allowed: Sequence[str] = KINDS) -> tuple[str, ...]:
    """A comma list as it came, each once; `all` is every kind. Raises `Invalid`."""
    if text is None:
        return DEFAULT_KINDS
    wanted = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if wanted == ("all",):
        return tuple(allowed)
    if unknown := [kind for kind in wanted if kind not in allowed]:
        message = f"{unknown[0]!r} isn't a type of output; choose from {', '.join(allowed)}, all"
        raise Invalid(f"types: {message}", issues=(Issue("types", message),))
    return wanted


def _files(identity: str, objects: Mapping[str, str], members: Mapping[str, Sequence[Member]]) -> Iterator[File]:
    for phase, name in objects.items():
        for path, offset, size in members.get(name, ()):
            yield File(f"{_ARTIFACTS}/{identity}/{phase}/{path}", _ARTIFACTS, Place(name, offset, size))


def _identity(path: str) -> str | None:
    """Whose artifact it is, by its path."""
    folder, _, rest = path.partition("/")
    identity, _, file = rest.partition("/")
    return identity if folder == _ARTIFACTS and file else None
