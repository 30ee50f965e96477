"""People with tokens of their own."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest


class Person:
    """A user of the gateway, with a token of their own."""

    def __init__(self, gateway: Any, user: dict[str, Any], token: dict[str, Any], workspace: str | None) -> None:
        self.client, self.id, self.email = gateway.client, user["id"], user["email"]
        self.token, self.token_id = token["token"], token["id"]
        # a client sends its default where a request has no value of its own
        self.headers = {"Authorization": f"Bearer {self.token}", "Proctor-Workspace": workspace or gateway.workspace}
        self.scoped = workspace != ""

    async def __call__(self, method: str, path: str, body: Any = None) -> httpx.Response:
        request = self.client.build_request(method, f"/api/v1{path}", json=body, headers=self.headers)
        if not self.scoped:
            del request.headers["Proctor-Workspace"]
        return await self.client.send(request)


type Invite = Callable[..., Awaitable[Person]]


@pytest.fixture
def invite(gateway: Any) -> Invite:
    """A new user with that role in the test's workspace; without a role, in no workspace."""

    async def make(name: str, role: str | None = None) -> Person:
        async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            answer = await gateway.client.post(f"/api/v1/{path}", json=body)
            assert answer.status_code == 201, answer.text
            return answer.json()

        email = f"{name}@example.org"
        user = await post("users", {"name": name.title(), "email": email})
        token = await post("tokens", {"name": "first", "user": email})
        if role is not None:
            await post(f"workspaces/{gateway.workspace}/members", {"email": email, "role": role})
        return Person(gateway, user, token, gateway.workspace if role else "")

    return make


@pytest.fixture
def person() -> type[Person]:
    """For one whose token was made otherwise."""
    return Person
