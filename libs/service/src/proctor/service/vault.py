"""How a worker gets the values of the attempt it holds."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

import nats.errors
from nats.aio.client import Client

from proctor.contracts import subjects
from proctor.contracts.messages import VaultAnswer, VaultRequest

VAULT_SECONDS: Final = 30.0


class Values(NamedTuple):
    """`env` is set; `readable` is what `${VAR}` in the task may name, `env` included."""

    env: Mapping[str, str]
    readable: Mapping[str, str]


NO_VALUES: Final = Values({}, {})


async def ask_values(connection: Client, request: VaultRequest) -> Values:
    """Raises `LookupError` with the vault's reason, or `TimeoutError` when it doesn't answer."""
    deadline = asyncio.get_running_loop().time() + VAULT_SECONDS
    payload = request.model_dump_json().encode()
    while asyncio.get_running_loop().time() < deadline:
        try:
            reply = await connection.request(subjects.vault_resolve(request.worker), payload, timeout=5)
        except (nats.errors.Error, TimeoutError):
            await asyncio.sleep(0.5)
        else:
            answer = VaultAnswer.model_validate_json(reply.data)
            if answer.values is None:
                raise LookupError(answer.error or "the vault gave no values")
            return Values(answer.values, {**answer.variables, **answer.values})
    raise TimeoutError
