"""A run's configuration as TOML that can be submitted again."""

from typing import Final

from litestar import Response, get
from litestar.params import FromPath

from proctor.contracts.manifest import RunLock
from proctor.gateway import configuration, resolved
from proctor.gateway.body import ApiRequest
from proctor.gateway.conditional import conditional
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.folds import run_head
from proctor.gateway.intents.control import submission_of
from proctor.gateway.literals import has_literals, may_see, with_values
from proctor.gateway.readmodel import runs
from proctor.gateway.resolved import Resolved, secret_names
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.runs import run_id
from proctor.gateway.vault.secrets import scopes_of
from proctor.objects import ObjectMissing
from proctor.service.errors import Conflicting, NotFound

_HIDDEN: Final = (
    "values of [env], [agents.env] and extra_headers are empty here: they are for who submitted the run and for admins"
)


@get(
    "/{run:str}/config",
    media_type="application/toml",
    middleware=[conditional],
    operation_class=described({"type": "string"}, 304, answer_types=("application/toml",)),
)
async def get_config(request: ApiRequest, edges: Opened, run: FromPath[str]) -> Response[str]:
    """With the values of the environment and of headers for who submitted the run and for admins."""
    who = request.user
    found = await _resolved(edges, who.workspace, await run_id(edges, who.workspace, run))
    config, comments = found.submitted.config, list(resolved.comments(found))
    if may_see(who, found.submitted.submitted_by):
        try:
            config = await with_values(edges, who.workspace, found.submitted.run, config)
        except Conflicting as error:
            comments.append(error.message)
    elif has_literals(config):
        comments.append(_HIDDEN)
    name = f'inline; filename="{found.submitted.name}.toml"'
    return Response(
        configuration.toml(config, comments), media_type="application/toml", headers={"Content-Disposition": name}
    )


async def _resolved(edges: Edges, workspace: str, run: str) -> Resolved:
    head = await run_head(edges.log, workspace, run)
    if head is None:
        raise NotFound("there is no such run in this workspace")
    submitted, planned = submission_of(head.state), head.state.planned
    source = submitted.rerun_of and await runs.find(edges.pool, workspace, submitted.rerun_of)
    return Resolved(
        submitted=submitted,
        since=head.since,
        lock_object=planned.lock if planned else None,
        lock=await _lock(edges, planned.lock) if planned else None,
        scopes=await scopes_of(edges.pool, workspace, submitted.submitted_by, secret_names(submitted.config)),
        images=await runs.images(edges.pool, workspace, run),
        source=source["name"] if source else None,
    )


async def _lock(edges: Edges, name: str) -> RunLock | None:
    try:
        return RunLock.model_validate_json(await edges.objects.get(name))
    except ObjectMissing:
        return None
