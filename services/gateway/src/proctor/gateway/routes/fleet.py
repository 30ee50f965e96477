"""The workers, as the scheduler sees them."""

from typing import Any, Final

import nats.errors
from litestar import get

from proctor.contracts.messages import FleetAnswer, WorkerView
from proctor.gateway.answers.platform import Runners
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.routes.operations import described
from proctor.service.errors import NotAvailable

FLEET_LIST: Final = "fleet.list"


@get("/runners", operation_class=described(Runners))
async def runners(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    """Workers are everyone's; of what they hold, each workspace sees its own."""
    try:
        answer = await edges.connection.request(FLEET_LIST, b"{}", timeout=2)
    except (nats.errors.NoRespondersError, nats.errors.TimeoutError) as error:
        raise NotAvailable("no scheduler answers, so nobody knows the workers; is it running?") from error
    fleet = FleetAnswer.model_validate_json(answer.data)
    return {"runners": [_shown(worker, request.user.workspace) for worker in fleet.workers]}


def _shown(worker: WorkerView, workspace: str) -> dict[str, Any]:
    beat = worker.beat
    held = tuple(one for one in beat.held if one.workspace == workspace)
    return {**beat.model_copy(update={"held": held}).model_dump(mode="json"), "silence": round(worker.silence, 1)}
