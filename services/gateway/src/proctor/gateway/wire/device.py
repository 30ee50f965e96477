"""The device's side of a sign-in: nobody is signed in yet."""

from typing import Any, Final

from litestar import Response, post

from proctor.gateway.access.middleware import address_of
from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.edges import Opened
from proctor.gateway.text import fault
from proctor.gateway.wire import device_codes
from proctor.gateway.wire.device_codes import Granted, Waiting
from proctor.service.errors import Invalid, Issue

OPEN: Final = {"exclude_from_auth": True}
_MAX_TEXT: Final = 255
_TOKEN_NAME: Final = 64
_TOLD: Final[dict[Waiting, str]] = {
    "authorization_pending": "nobody has approved the code yet; poll again after the interval",
    "slow_down": "polled too soon; wait 5 s longer between polls from now on",
    "expired_token": "the code has expired; start a new sign-in",
    "access_denied": "the sign-in was denied",
    "invalid_grant": "this device code isn't known, or its token was handed out already",
}


@post("/device/authorize", opt=OPEN, status_code=200)
async def authorize(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    edges.limits.check("device", address_of(request))
    name = _text(await read_object(request), "deviceName", default="a device")
    codes = await device_codes.begin(edges.pool, name[:_TOKEN_NAME].rstrip())
    page = f"{edges.settings.shown_url}/device"
    return {
        **codes._asdict(),
        "verification_uri": page,
        "verification_uri_complete": f"{page}?user_code={codes.user_code}",
        "expires_in": int(device_codes.LIFETIME.total_seconds()),
        "interval": device_codes.INTERVAL_SECONDS,
    }


@post("/device/token", opt=OPEN, status_code=200)
async def token(request: ApiRequest, edges: Opened) -> Response[dict[str, Any]]:
    edges.limits.check("device", address_of(request))
    found = await device_codes.poll(edges.pool, _text(await read_object(request), "device_code"))
    if not isinstance(found, Granted):
        return Response({"error": found, "message": _TOLD[found], "code": found, "issues": []}, status_code=400)
    issued = found.issued
    return Response({"token": issued.token, "token_id": issued.id, "expires_at": issued.expires_at, "user": found.user})


def _text(body: dict[str, Any], key: str, default: str | None = None) -> str:
    value: object = body.get(key, default)
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_TEXT:
        raise _unfit(key, f"must be a text of 1 to {_MAX_TEXT} characters")
    if (found := fault(value)) is not None:
        raise _unfit(key, found)
    return value.strip()


def _unfit(key: str, message: str) -> Invalid:
    return Invalid(f"{key}: {message}", issues=(Issue(key, message),))
