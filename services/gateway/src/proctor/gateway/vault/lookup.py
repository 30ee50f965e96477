"""Values of stored secrets, for a worker alone."""

from collections.abc import Collection
from typing import NamedTuple

from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.sealed import place_of
from proctor.service.postgres import Pool


class Value(NamedTuple):
    """`version`: of the record it is from, as `scope:version`."""

    text: str
    version: str


async def values_of(
    pool: Pool, sealer: Sealer, member: tuple[str, str], names: Collection[str], personal: Collection[str]
) -> dict[str, Value]:
    """What there is of the names, for a user of a workspace. Those in `personal` may be the user's own, in place of the
    workspace's. Raises `WrongKey`."""
    rows = await pool.fetch(
        "SELECT DISTINCT ON (name) * FROM gateway.secrets WHERE workspace = $1 AND name = ANY($3) "
        "AND (holder = '' OR (holder = $2 AND name = ANY($4))) ORDER BY name, holder = ''",
        *member,
        list(names),
        list(personal),
    )
    return {
        row["name"]: Value(
            sealer.open(row["sealed"], place_of("secrets", row)).decode(), f"{row['scope']}:{row['version']}"
        )
        for row in rows
    }
