"""A new key for everything that is sealed, while the vault is in use. The old one stays in the ring until the last row
is sealed anew, so whatever stops this, it goes on where it was when it is asked for again."""

import asyncio
import logging
from pathlib import Path
from typing import Final, NamedTuple

from proctor.gateway import audit
from proctor.gateway.access.principal import Principal
from proctor.gateway.edges import Edges
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.vault import keys
from proctor.gateway.vault.cipher import Sealer, WrongKey
from proctor.gateway.vault.keys import Ring, load_ring, read_ring
from proctor.gateway.vault.sealed import TABLES, alone_rotates, counted, may_seal, nobody_seals, place_of
from proctor.gateway.vault.values import split_old
from proctor.service.errors import Conflicting
from proctor.service.postgres import Pool

logger = logging.getLogger(__name__)

BATCH: Final = 200


class Rotated(NamedTuple):
    """`sealed`: how much was sealed anew. `source`: where the key is, and with settings, so are the old ones, which
    can be taken out now."""

    key_id: str
    sealed: int
    source: str


def ring_of(settings: GatewaySettings) -> Ring:
    return load_ring(settings.vault_key, settings.vault_old_keys, settings.home)


async def look(pool: Pool, sealer: Sealer, ring: Ring) -> None:
    """At the start: bring old rows into today's form, and say what can't be opened or isn't finished."""
    try:
        await split_old(pool, sealer)
    except WrongKey:
        logger.error("values of runs can't be opened: put the key that sealed them back into %s", ring.source)  # noqa: TRY400
    for key, count in (await counted(pool)).items():
        if key not in sealer.key_ids:
            logger.error("%d values in the vault are sealed with key %s: put it back into %s", count, key, ring.source)
    if ring.rotating and ring.file is not None:
        logger.warning("a rotation of the vault's key isn't finished: run `proctor vault rotate`")


async def rotate(edges: Edges, who: Principal) -> Rotated:
    """Raises `Conflicting` when there is no new key, something can't be opened, or another is under way."""
    async with edges.pool.acquire() as connection, connection.transaction():
        if not await alone_rotates(connection):
            raise Conflicting("another rotation is under way: see what it comes to before you ask for one more")
        return await _rotate(edges, who)


async def _rotate(edges: Edges, who: Principal) -> Rotated:
    ring = ring_of(edges.settings)
    if ring.file is not None:
        await _begin(edges, ring.file)
    elif not ring.rotating:
        raise Conflicting(
            "the vault's key is a setting: set PROCTOR_VAULT_KEY to a new one and PROCTOR_VAULT_OLD_KEYS to the "
            "present one at every gateway, start them again, then rotate"
        )
    await _check(edges, ring)
    sealed = 0
    for table in TABLES:
        while count := await _seal_batch(edges, table):
            sealed += count
    await _finish(edges, who, ring.file, sealed)
    return Rotated(edges.sealer.key_id, sealed, ring.source)


async def _begin(edges: Edges, file: Path) -> None:
    """A new key, unless an earlier rotation has made one and didn't come to its end."""
    async with edges.pool.acquire() as connection, connection.transaction():
        await nobody_seals(connection)
        ring = await asyncio.to_thread(read_ring, file)
        if not ring.rotating:
            ring = await asyncio.to_thread(keys.begin, ring, file)
        edges.sealer.turn_to(*ring.keys)


async def _check(edges: Edges, ring: Ring) -> None:
    unknown = sum(count for key, count in (await counted(edges.pool)).items() if key not in edges.sealer.key_ids)
    if unknown:
        raise Conflicting(
            f"{unknown} values are sealed with a key that isn't in {ring.source}: put it back, or remove those "
            "secrets; until then the keys that are there stay"
        )


async def _seal_batch(edges: Edges, table: str) -> int:
    sealer = edges.sealer
    async with edges.pool.acquire() as connection, connection.transaction():
        await may_seal(connection)
        rows = await connection.fetch(
            f"SELECT *, ctid FROM gateway.{table} WHERE key_id <> $1 LIMIT {BATCH} FOR UPDATE",  # noqa: S608
            sealer.key_id,
        )
        anew: list[tuple[object, bytes, str]] = []
        for row in rows:
            place = place_of(table, row)
            try:
                clear = sealer.open(row["sealed"], place)
            except WrongKey:
                raise Conflicting(
                    f"{place} was changed since it was sealed: remove it, then rotate again; the old key stays"
                ) from None
            anew.append((row["ctid"], sealer.seal(clear, place), sealer.key_id))
        await connection.executemany(
            f"UPDATE gateway.{table} SET sealed = $2, key_id = $3 WHERE ctid = $1",  # noqa: S608
            anew,
        )
    return len(rows)


async def _finish(edges: Edges, who: Principal, file: Path | None, sealed: int) -> None:
    """Do away with the old keys once nothing needs them, and nobody is about to."""
    async with edges.pool.acquire() as connection, connection.transaction():
        await nobody_seals(connection)
        if set(await counted(connection)) - {edges.sealer.key_id}:
            raise Conflicting(
                "something was sealed with another key meanwhile: see that every gateway has the new one, rotate again"
            )
        detail = {"key_id": edges.sealer.key_id, "sealed": sealed}
        await audit.record(
            connection, workspace=who.workspace, actor=who.user, action="vault.rotated", target="vault", detail=detail
        )
        if file is not None:
            ring = await asyncio.to_thread(read_ring, file)
            await asyncio.to_thread(keys.finish, ring, file)
