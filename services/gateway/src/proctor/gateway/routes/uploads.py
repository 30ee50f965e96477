"""Archives that a benchmark is then added from."""

import tempfile
from typing import Any, BinaryIO, cast

from litestar import post

from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.body import ApiRequest, spool_archive
from proctor.gateway.edges import Opened


@post("/uploads", guards=[at_least(Role.ADMIN)], request_max_body_size=None)
async def upload(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    """Stored under its digest: the same archive again is the same object."""
    with tempfile.TemporaryFile() as spool:
        file = cast("BinaryIO", spool)
        received = await spool_archive(request, file, edges.settings.upload_bytes)
        name = f"upload/{received.digest}"
        if not await edges.objects.exists(name):
            await edges.objects.put_file(name, file)
    return {"object": name, "size": received.size}
