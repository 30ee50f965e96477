"""Wiring: what the gateway opens, what it serves, and what runs beside."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from math import inf

from litestar import Litestar, Router
from litestar.di import Provide

from proctor.eventlog import EventLog
from proctor.gateway import headers
from proctor.gateway.acceptable import refuse_unfit
from proctor.gateway.access.limits import Limits
from proctor.gateway.access.middleware import BearerAuthentication
from proctor.gateway.access.owner import ensure_owner
from proctor.gateway.access.sign_in import SignIn
from proctor.gateway.edges import PATIENCE_SECONDS, Edges
from proctor.gateway.feed import ProjectionFeed
from proctor.gateway.folds import RunFolds
from proctor.gateway.manifests import Manifests
from proctor.gateway.outputs.manifest import Outputs
from proctor.gateway.outputs.snapshots import Snapshots
from proctor.gateway.outputs.spools import Spools
from proctor.gateway.routes import (
    accounts,
    benchmarks,
    billing,
    compare,
    configuration,
    control,
    description,
    devices,
    events,
    fleet,
    health,
    home,
    identity,
    logs,
    marks,
    outputs,
    pages,
    results,
    runs,
    secrets,
    uploads,
    workspaces,
)
from proctor.gateway.server import serve_http
from proctor.gateway.settings import GatewaySettings
from proctor.gateway.vault import eraser, resolver, rotation
from proctor.gateway.vault.cipher import Sealer
from proctor.gateway.vault.locks import NeededVariables
from proctor.gateway.wire import errors
from proctor.gateway.wire.router import build_router
from proctor.objects import Objects
from proctor.service.broker import connection_of, open_broker
from proctor.service.postgres import migrate, open_pool
from proctor.service.process import report_health, run_until, unless_stopped

BODY_BYTES = 1024 * 1024

RUN_ROUTES = [
    runs.submit_run,
    runs.list_runs,
    runs.get_run,
    runs.stop_run,
    runs.get_lock,
    *control.HANDLERS,
    configuration.get_config,
    marks.mark_run,
    results.list_results,
    results.get_result,
    results.list_artifacts,
    results.get_artifact,
    logs.get_logs,
    outputs.list_outputs,
    outputs.get_output,
    events.run_events,
]


def build_app(edges: Edges) -> Litestar:
    api = Router(
        "/api/v1",
        route_handlers=[
            benchmarks.router,
            Router("/runs", route_handlers=RUN_ROUTES),
            uploads.upload,
            fleet.runners,
            compare.compare_runs,
            identity.whoami,
            *accounts.HANDLERS,
            *workspaces.HANDLERS,
            *billing.HANDLERS,
            *secrets.HANDLERS,
            devices.router,
        ],
        middleware=[BearerAuthentication],
        security=[{description.TOKEN: []}],
    )
    wire = build_router(edges.settings)
    app = Litestar(
        route_handlers=[
            home.home,
            description.openapi,
            health.live,
            health.ready,
            outputs.get_file,
            devices.page,
            *pages.HANDLERS,
            api,
            wire,
        ],
        dependencies={"edges": Provide(lambda: edges, sync_to_thread=False)},
        exception_handlers={Exception: errors.respond},
        before_request=refuse_unfit,
        before_send=[headers.add_security_headers],
        request_max_body_size=BODY_BYTES,
        openapi_config=description.OPENAPI,
        logging_config=None,
    )
    app.state.sign_in = edges.sign_in
    return app


@contextlib.asynccontextmanager
async def open_edges(settings: GatewaySettings, stop: asyncio.Event) -> AsyncGenerator[Edges]:
    """Prepares the schema and the owner, connects, and answers the vault for as long as it is open."""
    ring = rotation.ring_of(settings)
    sealer = Sealer(*ring.keys)
    pool = await unless_stopped(stop, open_pool(settings.database_url, patience=inf), "the database")
    await migrate(pool, "proctor.gateway", "gateway")
    await rotation.look(pool, sealer, ring)
    if settings.owns_home:
        await ensure_owner(pool, settings.home)
    broker = await open_broker(settings.nats_url, "gateway", stop)
    connection = connection_of(broker)
    limits = Limits(settings.rates)
    log, objects = EventLog(connection, "gateway"), Objects(connection, patience=PATIENCE_SECONDS)
    folds = RunFolds(log)
    resolver.subscribe(broker, resolver.Resolver(pool, folds, NeededVariables(objects), sealer))
    await broker.start()
    try:
        yield Edges(
            settings=settings,
            pool=pool,
            connection=connection,
            log=log,
            objects=objects,
            manifests=Manifests(objects),
            folds=folds,
            outputs=Outputs(pool, Snapshots(pool, log, objects), Spools(objects)),
            feed=ProjectionFeed(settings.database_url),
            sealer=sealer,
            limits=limits,
            sign_in=SignIn(pool, limits),
            stop=stop,
        )
    finally:
        await broker.stop()
        pool.terminate()


async def serve(settings: GatewaySettings, listener: socket.socket, stop: asyncio.Event) -> None:
    async with open_edges(settings, stop) as edges:
        await run_until(
            asyncio.Event(),
            serve_http(build_app(edges), listener, stop, edges.feed.wake),
            edges.feed.run(),
            eraser.keep_erasing(edges.log, edges.pool),
            report_health(settings, lambda: health.healthy(edges)),
        )
