"""Bodies that are models: read with this service's words for what is wrong."""

from pydantic import BaseModel, ValidationError

from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.submission import invalid
from proctor.gateway.submission.findings import issue_of


async def read[Body: BaseModel](request: ApiRequest, kind: type[Body]) -> Body:
    """Raises `Invalid` with every problem."""
    try:
        return kind.model_validate(await read_object(request))
    except ValidationError as error:
        raise invalid([issue_of(detail) for detail in error.errors(include_url=False)]) from None
