"""The person's side of a device's sign-in: look at what waits, approve it or deny it."""

import re
from typing import Any, Final

from litestar import MediaType, Router, get, post
from litestar.params import FromPath, FromQuery
from pydantic import BaseModel, ConfigDict

from proctor.gateway.access.middleware import UNSCOPED
from proctor.gateway.answers.accounts import DecidedDevice, Device
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described
from proctor.gateway.wire import device_codes

_CODE: Final = re.compile(r"[A-Z]{4}-[A-Z]{4}")


class Decision(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    approve: bool


@get("/{user_code:str}", operation_class=described(Device))
async def get_device(request: ApiRequest, edges: Opened, user_code: FromPath[str]) -> dict[str, Any]:
    edges.limits.check("device", request.user.user)
    return await device_codes.shown(edges.pool, user_code)


@post("/{user_code:str}", status_code=200, operation_class=described(DecidedDevice, 409, body=Decision))
async def decide_device(request: ApiRequest, edges: Opened, user_code: FromPath[str]) -> dict[str, Any]:
    decision = await read(request, Decision)
    edges.limits.check("device", request.user.user)
    return await device_codes.decide(edges.pool, request.user, user_code, approve=decision.approve)


@get("/device", media_type=MediaType.TEXT, include_in_schema=False, sync_to_thread=False)
def page(user_code: FromQuery[str] = "CODE") -> str:
    """Where the device sends its owner. Nothing but a code is repeated, since people copy what it says."""
    code = user_code if _CODE.fullmatch(user_code) else "CODE"
    return (
        "A device waits to sign in as you. If you started that yourself and it shows the same code, let it in with\n\n"
        f"    proctor device approve {code}\n\nand if not, refuse it with\n\n    proctor device deny {code}\n"
    )


router = Router("/device", route_handlers=[get_device, decide_device], opt={UNSCOPED: True})
