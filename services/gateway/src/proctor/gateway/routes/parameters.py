"""Parameters that several routes share."""

from typing import Annotated

from litestar.params import HeaderParameter, QueryParameter

from proctor.gateway.paging import MAX_LIMIT

Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str | None, QueryParameter(name="cursor", max_length=1024)]
IdempotencyKey = Annotated[str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=255)]
