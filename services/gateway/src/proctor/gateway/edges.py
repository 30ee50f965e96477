"""Everything outside the process that a handler may need, opened once by `app`."""

import asyncio
from dataclasses import dataclass

from litestar.di import NamedDependency
from nats.aio.client import Client

from proctor.eventlog import EventLog
from proctor.gateway.feed import ProjectionFeed
from proctor.gateway.manifests import Manifests
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.vault.cipher import Sealer
from proctor.objects import Objects
from proctor.service.postgres import Pool


@dataclass(frozen=True, slots=True)
class Edges:
    settings: GatewaySettings
    pool: Pool
    connection: Client
    log: EventLog
    objects: Objects
    manifests: Manifests
    feed: ProjectionFeed
    sealer: Sealer
    stop: asyncio.Event


Opened = NamedDependency[Edges]
"""The edges as a handler asks for them."""
