"""The workers, as the scheduler sees them."""

from typing import Any, Final

import nats.errors
from litestar import get

from proctor.contracts.messages import FleetAnswer
from proctor.gateway.edges import Opened
from proctor.service.errors import NotAvailable

FLEET_LIST: Final = "fleet.list"


@get("/runners")
async def runners(edges: Opened) -> dict[str, Any]:
    try:
        answer = await edges.connection.request(FLEET_LIST, b"{}", timeout=2)
    except (nats.errors.NoRespondersError, nats.errors.TimeoutError) as error:
        raise NotAvailable("no scheduler answers, so nobody knows the workers; is it running?") from error
    fleet = FleetAnswer.model_validate_json(answer.data)
    return {
        "runners": [
            {**worker.beat.model_dump(mode="json"), "silence": round(worker.silence, 1)} for worker in fleet.workers
        ]
    }
