"""Headers that every response carries, errors included, unless the handler set its own."""

from typing import Final

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

SECURITY: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


async def add_security_headers(message: Message, _: Scope) -> None:
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in SECURITY.items():
            headers.setdefault(name, value)
