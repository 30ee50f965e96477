"""Archives that a benchmark is then added from."""

import tempfile
from typing import Any, BinaryIO, Final, cast

from litestar import post

from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.benchmarks import Upload
from proctor.gateway.body import ARCHIVE_TYPES, ApiRequest, spool_archive
from proctor.gateway.edges import Opened
from proctor.gateway.intents.benchmarks import upload_name
from proctor.gateway.routes.operations import described

_ARCHIVE: Final = {"type": "string", "format": "binary"}


@post(
    "/uploads",
    guards=[at_least(Role.ADMIN)],
    request_max_body_size=None,
    operation_class=described(Upload, body=_ARCHIVE, body_types=sorted(ARCHIVE_TYPES)),
)
async def upload(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    """Stored under its digest: the same archive again is the same object, in each workspace its own."""
    with tempfile.TemporaryFile() as spool:
        file = cast("BinaryIO", spool)
        received = await spool_archive(request, file, edges.settings.upload_bytes)
        name = upload_name(request.user.workspace, received.digest)
        if not await edges.objects.exists(name):
            await edges.objects.put_file(name, file)
    return {"object": name, "size": received.size}
