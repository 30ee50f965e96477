"""Notes, tags and the archive of runs."""

from typing import Any

from litestar import patch
from litestar.params import FromPath

from proctor.gateway import marks
from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.runs import Run
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.intents.control import check_may_control
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.runs import run_after, run_id


@patch("/{run:str}", guards=[at_least(Role.MEMBER)], operation_class=described(Run, body=marks.Marks))
async def mark_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    wanted = await read(request, marks.Marks)
    found = await run_id(edges, request.user.workspace, run)
    document = await run_after(edges, request.user.workspace, found, 0)
    check_may_control(request.user, document["submitted_by"])
    return {**document, **await marks.change(edges.pool, request.user, found, wanted)}
