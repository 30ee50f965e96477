"""Everything outside the process that a handler may need, opened once by `app`."""

import asyncio
from dataclasses import dataclass
from typing import Final

from litestar.di import NamedDependency
from litestar.params import SkipValidation
from nats.aio.client import Client

from proctor.eventlog import EventLog
from proctor.gateway.access.limits import Limits
from proctor.gateway.access.sign_in import SignIn
from proctor.gateway.feed import ProjectionFeed
from proctor.gateway.folds import RunFolds
from proctor.gateway.manifests import Manifests
from proctor.gateway.outputs.manifest import Outputs
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.vault.cipher import Sealer
from proctor.objects import Objects
from proctor.service.postgres import Pool

PATIENCE_SECONDS: Final = 10.0
"""How long a request waits for a bus that is away."""


@dataclass(frozen=True, slots=True)
class Edges:
    settings: GatewaySettings
    pool: Pool
    connection: Client
    log: EventLog
    objects: Objects
    manifests: Manifests
    folds: RunFolds
    outputs: Outputs
    feed: ProjectionFeed
    sealer: Sealer
    limits: Limits
    sign_in: SignIn
    stop: asyncio.Event


Opened = NamedDependency[SkipValidation[Edges]]
"""The edges as a handler asks for them."""
