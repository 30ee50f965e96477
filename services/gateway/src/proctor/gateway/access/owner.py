"""The first workspace and its owner, so that a fresh installation can be used at once."""

from pathlib import Path
from typing import Final

from proctor.contracts.ids import new_id
from proctor.gateway.access.tokens import new_token, token_hash
from proctor.gateway.private_file import read_or_create
from proctor.service.postgres import Pool

WORKSPACE: Final = "default"
OWNER: Final = "owner"
_MIN_TOKEN: Final = 16
_TOKEN_NAME: Final = "home"


class UnusableToken(Exception):
    """The token file holds something that can't be a token."""


async def ensure_owner(pool: Pool, home: Path) -> None:
    """Whatever `home/token` says is the owner's token; what it said before is revoked."""
    path = home / "token"
    token = read_or_create(path, new_token)
    if len(token) < _MIN_TOKEN or any(character.isspace() for character in token):
        raise UnusableToken(
            f"{path} must hold one token of at least {_MIN_TOKEN} characters; remove it to get a new one"
        )
    hashed = token_hash(token)
    async with pool.acquire() as connection, connection.transaction():
        new = await connection.fetchval(
            "INSERT INTO gateway.workspaces (id, name) VALUES ($1, $1) ON CONFLICT DO NOTHING RETURNING id", WORKSPACE
        )
        await connection.execute(
            "INSERT INTO gateway.users (id, name, email, operator) VALUES ($1, $1, $2, true) ON CONFLICT DO NOTHING",
            OWNER,
            f"{OWNER}@localhost",
        )
        if new is not None:
            await connection.execute(
                "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, $2, 'owner')", WORKSPACE, OWNER
            )
        await connection.execute(
            "UPDATE gateway.tokens SET revoked_at = now() WHERE from_home AND hash <> $1 AND revoked_at IS NULL",
            hashed,
        )
        await connection.execute(
            "INSERT INTO gateway.tokens (hash, id, holder, name, from_home) VALUES ($1, $2, $3, $4, true) "
            "ON CONFLICT (hash) DO UPDATE SET revoked_at = NULL, expires_at = NULL, from_home = true",
            hashed,
            new_id(),
            OWNER,
            _TOKEN_NAME,
        )
