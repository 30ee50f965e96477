"""Who the caller is."""

from typing import Any

from litestar import get

from proctor.gateway.access.middleware import UNSCOPED
from proctor.gateway.answers.accounts import WhoAmI
from proctor.gateway.body import ApiRequest
from proctor.gateway.routes.operations import described


@get("/whoami", opt={UNSCOPED: True}, sync_to_thread=False, operation_class=described(WhoAmI))
def whoami(request: ApiRequest) -> dict[str, Any]:
    who = request.user
    return {
        "user": {"id": who.user, "name": who.user_name, "email": who.email, "operator": who.operator},
        "workspace": {"id": who.workspace, "name": who.workspace_name, "role": who.role} if who.workspace else None,
        "token": {"id": who.token_id, "name": who.token_name, "expires_at": who.expires_at},
    }
