"""Pause, resume and rerun a run, stop one of its agents, try one attempt again."""

import re
from typing import Annotated, Any, Final

from litestar import Response, post
from litestar.handlers.base import BaseRouteHandler
from litestar.params import FromPath, PathParameter
from pydantic import BaseModel, ConfigDict

from proctor.contracts.ids import Cell
from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.runs import Run, SubmittedRun
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.intents import control
from proctor.gateway.intents.rerun import Rerun, rerun
from proctor.gateway.readmodel import runs
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import LOCATION, described
from proctor.gateway.routes.parameters import IdempotencyKey
from proctor.gateway.routes.runs import SUBMIT_BYTES, Why, answer, run_after, run_id

_MEMBERS: Final = [at_least(Role.MEMBER)]
_ATTEMPT: Final = re.compile(r"\d{1,6}-\d{1,6}-\d{1,6}", re.ASCII)

AgentIndex = Annotated[int, PathParameter(name="agent", ge=0, le=1000)]


class Nothing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@post("/{run:str}/pause", guards=_MEMBERS, status_code=202, operation_class=described(Run, 409, body=Why))
async def pause_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    why = await read(request, Why)
    found = await run_id(edges, request.user.workspace, run)
    return await _after(request, edges, found, await control.pause(edges, request.user, found, why.reason.strip()))


@post("/{run:str}/resume", guards=_MEMBERS, status_code=202, operation_class=described(Run, 409, body=Nothing))
async def resume_run(request: ApiRequest, edges: Opened, run: FromPath[str]) -> dict[str, Any]:
    await read(request, Nothing)
    found = await run_id(edges, request.user.workspace, run)
    return await _after(request, edges, found, await control.resume(edges, request.user, found))


@post(
    "/{run:str}/agents/{agent:int}/stop",
    guards=_MEMBERS,
    status_code=202,
    operation_class=described(Run, 409, body=Why),
)
async def stop_agent(request: ApiRequest, edges: Opened, run: FromPath[str], agent: AgentIndex) -> dict[str, Any]:
    why = await read(request, Why)
    found = await run_id(edges, request.user.workspace, run)
    sequence = await control.stop_agent(edges, request.user, found, agent, why.reason.strip())
    return await _after(request, edges, found, sequence)


@post(
    "/{run:str}/results/{attempt:str}/retry",
    guards=_MEMBERS,
    status_code=202,
    operation_class=described(Run, 409, body=Nothing),
)
async def retry_attempt(
    request: ApiRequest, edges: Opened, run: FromPath[str], attempt: FromPath[str]
) -> dict[str, Any]:
    await read(request, Nothing)
    found = await run_id(edges, request.user.workspace, run)
    key = await _attempt_key(edges, request.user.workspace, found, attempt)
    return await _after(request, edges, found, await control.retry(edges, request.user, found, key))


@post(
    "/{run:str}/rerun",
    guards=_MEMBERS,
    request_max_body_size=SUBMIT_BYTES,
    operation_class=described(SubmittedRun, 200, 409, body=Rerun, headers=LOCATION),
)
async def rerun_run(
    request: ApiRequest, edges: Opened, run: FromPath[str], idempotency_key: IdempotencyKey = None
) -> Response[dict[str, Any]]:
    edges.limits.check("submits", request.user.user)
    wanted = await read(request, Rerun)
    source = await run_id(edges, request.user.workspace, run)
    submitted = await rerun(edges, request.user, source, wanted, idempotency_key)
    return await answer(edges, request.user.workspace, submitted)


async def _attempt_key(edges: Edges, workspace: str, run: str, wanted: str) -> str:
    """Of an attempt by key or identity; what is neither is in no plan."""
    if _ATTEMPT.fullmatch(wanted):
        return str(Cell.parse(wanted))
    row = await runs.result(edges.pool, workspace, run, wanted)
    if row is None:
        raise control.no_attempt(wanted)
    return row["attempt"]


async def _after(request: ApiRequest, edges: Edges, run: str, sequence: int) -> dict[str, Any]:
    return await run_after(edges, request.user.workspace, run, sequence)


HANDLERS: Final[list[BaseRouteHandler]] = [pause_run, resume_run, stop_agent, retry_attempt, rerun_run]
