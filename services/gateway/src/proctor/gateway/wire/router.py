"""Every route of the wire, with its own authentication."""

from litestar import Router
from litestar.middleware import DefineMiddleware

from proctor.gateway.settings import GatewaySettings
from proctor.gateway.wire import benchmarks, device, identity, outputs, runs, secrets
from proctor.gateway.wire.errors import PREFIX
from proctor.gateway.wire.scope import WireAuthentication
from proctor.gateway.wire.versions import VersionSignal


def build_router(settings: GatewaySettings) -> Router:
    return Router(
        PREFIX,
        route_handlers=[
            identity.verify,
            identity.revoke_token,
            identity.workspaces,
            identity.quickstart,
            identity.complete_quickstart,
            device.authorize,
            device.token,
            benchmarks.list_benchmarks,
            benchmarks.get_benchmark,
            runs.submit_run,
            runs.list_runs,
            runs.get_run,
            runs.stop_run,
            runs.get_logs,
            *secrets.HANDLERS,
            *outputs.HANDLERS,
        ],
        middleware=[
            DefineMiddleware(VersionSignal, oldest=settings.osmosis_oldest, latest=settings.osmosis_latest),
            WireAuthentication,
        ],
        include_in_schema=False,
    )
