"""The files in objects of artifacts. An object is read for that once; from then on the database knows."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import batched
from typing import Final

from proctor.gateway.outputs.members import Member, members_of
from proctor.gateway.outputs.spools import InMemory, Spools
from proctor.service.errors import NotFound
from proctor.service.postgres import Pool

READ_AT_ONCE: Final = 64
_KNOWN: Final = "SELECT object, files FROM gateway.artifact_files WHERE object = ANY($1)"
_LEARN: Final = "INSERT INTO gateway.artifact_files (object, files) VALUES ($1, $2) ON CONFLICT DO NOTHING"


async def listings(pool: Pool, spools: Spools, objects: Iterable[str]) -> Mapping[str, Sequence[Member]]:
    """By object. One that is no longer stored has no files."""
    names = list(dict.fromkeys(objects))
    rows = await pool.fetch(_KNOWN, names)
    found = {row["object"]: [Member(*file) for file in row["files"]] for row in rows}
    for some in batched((name for name in names if name not in found), READ_AT_ONCE, strict=False):
        read = dict(zip(some, await asyncio.gather(*(_read(spools, name) for name in some)), strict=True))
        known = {name: members for name, members in read.items() if members is not None}
        await pool.executemany(_LEARN, list(known.items()))
        found |= known
    return found


async def _read(spools: Spools, name: str) -> list[Member] | None:
    try:
        spool = await spools.get(name)
    except NotFound:
        return None
    if isinstance(spool, InMemory):
        return members_of(spool)
    return await asyncio.to_thread(members_of, spool)
