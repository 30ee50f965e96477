"""What is there for whoever knows the address alone."""

import json
import re
from collections import Counter
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


async def test_a_page_of_the_web_ui_says_which_command_shows_it(gateway: Any) -> None:
    del gateway.client.headers["Authorization"]
    pages = {
        "/benchmarks": ("proctor benchmark list\n", "osmosis benchmark list\n"),
        "/benchmarks/acme/tiny": ("proctor benchmark info acme/tiny\n", "osmosis benchmark info acme/tiny\n"),
        "/benchmarks/runs/0ab": ("proctor run info 0ab\n", "osmosis benchmark runs info 0ab\n"),
        "/benchmarks/runs/a;rm%20x": ("proctor run info ID\n", "osmosis benchmark runs info ID\n"),
        "/benchmarks/a%0arm": ("proctor benchmark info ID\n", "osmosis benchmark info ID\n"),
    }
    for path, commands in pages.items():
        answer = await gateway.client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8"), path
        assert all(command in answer.text for command in commands), answer.text


async def test_what_the_document_refers_to_is_in_it(gateway: Any) -> None:
    text = (await gateway.client.get("/openapi.json")).text
    document = json.loads(text)
    for reference in set(re.findall(r'"#/([^"]+)"', text)):
        found: Any = document
        for part in reference.split("/"):
            found = found[part]
    problem = (await gateway.client.get("/api/v1/runs/none")).json()
    assert set(problem) <= set(document["components"]["schemas"]["Problem"]["properties"])


WITHOUT_BODY = {"rotate_key"}
SIGNED_IN = {"401", "403", "429", "503"}


async def test_every_route_is_described_whole(gateway: Any) -> None:
    document = (await gateway.client.get("/openapi.json")).json()
    tags, names = {tag["name"] for tag in document["tags"]}, Counter[str]()
    for route, item in document["paths"].items():
        for method, operation in item.items():
            name, responses = operation["operationId"], operation["responses"]
            names[name] += 1
            assert operation["summary"], name
            assert set(operation["tags"]) <= tags, name
            secured = route.startswith("/api/v1/") and route != "/api/v1/files/{token}/{name}"
            assert operation.get("security", []) == ([{"token": []}] if secured else []), name
            assert set(responses) >= {"400", *(SIGNED_IN if secured else ())}, name
            assert ("404" in responses) or "{" not in route, name
            assert "default" not in responses
            assert any(status < "300" for status in responses), name
            takes_body = method in {"post", "put", "patch"} and name not in WITHOUT_BODY
            assert ("requestBody" in operation) == takes_body == ("413" in responses), name
            placed = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert placed == set(re.findall(r"{(\w+)}", route)), name
            for status, response in responses.items():
                assert response["description"]
                if status >= "400" and status not in {"416", "503"}:
                    assert set(response["content"]) == {"application/problem+json"}, name
    assert set(names.values()) == {1}
