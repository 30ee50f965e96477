"""Authentication with a limit on failures for each client address."""

from collections import OrderedDict
from typing import Final

from proctor.gateway.access.limits import Limits
from proctor.gateway.access.principal import Principal
from proctor.gateway.access.tokens import authenticate, bearer, token_hash
from proctor.service.errors import Unauthorized
from proctor.service.postgres import Pool

_MOST_KNOWN: Final = 10_000


class SignIn:
    """A token that was good before is always looked up, so that one caller with a bad token doesn't lock out the others
    behind its address."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits
        self._known: OrderedDict[bytes, None] = OrderedDict()

    async def __call__(
        self,
        authorization: str | None,
        address: str,
        *,
        workspace: str | None = None,
        repo: str | None = None,
        scoped: bool = True,
    ) -> Principal:
        """Who sends that Authorization header, as `tokens.authenticate` has it. Raises `TooMany` as well."""
        token = bearer(authorization)
        hashed = token_hash(token)
        if hashed not in self._known:
            self._limits.peek("sign_in", address)
        try:
            who = await authenticate(self._pool, token, workspace=workspace, repo=repo, scoped=scoped)
        except Unauthorized:
            self._known.pop(hashed, None)
            self._limits.check("sign_in", address)
            raise
        self._known[hashed] = None
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return who
