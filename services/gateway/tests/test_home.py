"""What is there for whoever knows the address alone."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
UNDESCRIBED = {"/openapi.json", "/api/v1/openapi.json"}


def documented() -> set[tuple[str, str]]:
    """(method, path) of the first column of the README's table, parameters and queries left out."""
    rows = [line.split(" | ")[0] for line in README.splitlines() if line.startswith("| `")]
    routes = {found for row in rows for found in re.findall(r"`([A-Z]+) ([^`?]+)[^`]*`", row)}
    return {(method.lower(), re.sub(r"{[^}]*}", "{}", path)) for method, path in routes if path not in UNDESCRIBED}


async def test_the_root_says_what_this_is_and_where_to_go(gateway: Any) -> None:
    del gateway.client.headers["Authorization"]
    answer = await gateway.client.get("/")
    assert answer.status_code == 200
    home = answer.json()
    assert re.fullmatch(r"\d+\.\d+\.\d+", home["version"])
    assert "PROCTOR_HOME" in home["token"]
    assert str(gateway.settings.home) not in answer.text
    assert (await gateway.client.get(home["openapi"])).status_code == 200
    assert (await gateway.client.get(home["health"]["live"])).status_code == 200
    assert (await gateway.client.get(home["health"]["ready"])).status_code in {200, 503}
    assert (await gateway.client.get(f"{home['api']}/runs")).status_code == 401


@pytest.mark.parametrize("path", sorted(UNDESCRIBED))
async def test_the_openapi_document_names_every_route_of_the_readme_and_no_other(gateway: Any, path: str) -> None:
    del gateway.client.headers["Authorization"]
    answer = await gateway.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    document = json.loads(answer.content)
    assert document["openapi"].startswith("3.1")
    described = {
        (method, re.sub(r"{[^}]*}", "{}", route)) for route, item in document["paths"].items() for method in item
    }
    assert len(documented()) > 20
    assert described == documented()


async def test_what_the_document_refers_to_is_in_it(gateway: Any) -> None:
    text = (await gateway.client.get("/openapi.json")).text
    document = json.loads(text)
    for reference in set(re.findall(r'"#/([^"]+)"', text)):
        found: Any = document
        for part in reference.split("/"):
            found = found[part]
    problem = (await gateway.client.get("/api/v1/runs/none")).json()
    assert set(problem) <= set(document["components"]["schemas"]["Problem"]["properties"])
    schemes = document["components"]["securitySchemes"]
    for route, item in document["paths"].items():
        for operation in item.values():
            assert "default" in operation["responses"]
            named = [scheme for requirement in operation.get("security", []) for scheme in requirement]
            assert (named != []) == route.startswith("/api/v1/")
            assert set(named) <= set(schemes)
