from collections.abc import Callable
from typing import Any

import pytest

from proctor.cli.access import Access
from proctor.cli.benchmarks import find_benchmark
from proctor.cli.client import Client, Refused, Unreachable
from proctor.cli.failure import Failure

type Serve = Callable[[dict[str, tuple[int, Any]]], str]


def client_of(url: str) -> Client:
    return Client(Access(url, "token"))


def test_a_problem_is_its_detail_and_a_line_for_each_issue(http_server: Serve) -> None:
    issues = [
        {"key": "agents[0].harness", "message": "unknown harness orcle", "correction": "oracle"},
        {"key": "execution.attempts_per_task", "message": "must be 1 to 64", "correction": None},
    ]
    problem = {"detail": "2 problems in the submission", "code": "VALIDATION", "issues": issues}
    with client_of(http_server({"POST /api/v1/runs": (400, problem)})) as client, pytest.raises(Refused) as caught:
        client.post("runs", {})
    assert caught.value.message == "2 problems in the submission"
    assert caught.value.details == (
        "agents[0].harness: unknown harness orcle (did you mean oracle?)",
        "execution.attempts_per_task: must be 1 to 64",
    )


def test_a_detail_that_joins_the_issues_gives_way_to_their_list(http_server: Serve) -> None:
    issues = [{"key": f"env.V{number}", "message": "is too long", "correction": None} for number in range(4)]
    detail = "env.V0: is too long; env.V1: is too long; env.V2: is too long; and 1 more"
    problem = {"detail": detail, "issues": issues}
    with client_of(http_server({"POST /api/v1/runs": (400, problem)})) as client, pytest.raises(Refused) as caught:
        client.post("runs", {})
    assert caught.value.message == "4 problems"
    assert caught.value.details == tuple(f"env.V{number}: is too long" for number in range(4))


def test_a_part_of_the_platform_that_is_away_is_worth_waiting_for(http_server: Serve) -> None:
    problem = {"detail": "the database doesn't answer; try again shortly"}
    with client_of(http_server({"GET /api/v1/runs/r": (503, problem)})) as client, pytest.raises(Unreachable):
        client.get("runs/r")


def test_a_single_issue_is_said_once(http_server: Serve) -> None:
    issue = {"key": "execution.attempts_per_task", "message": "must be at least 1", "correction": "1"}
    problem = {"detail": "execution.attempts_per_task: must be at least 1", "issues": [issue]}
    with client_of(http_server({"POST /api/v1/runs": (400, problem)})) as client, pytest.raises(Refused) as caught:
        client.post("runs", {})
    assert caught.value.message == "execution.attempts_per_task: must be at least 1 (did you mean 1?)"
    assert caught.value.details == ()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"detail": "the token isn't valid"}, "the token isn't valid: check the token in the home"),
        (500, {"detail": "internal error", "incident": "ab12"}, r"internal error \(incident ab12\)"),
        (502, "<html>", "HTTP 502 Bad Gateway"),
        (200, "<html>", "doesn't answer like Proctor: is the address right"),
    ],
)
def test_other_answers(http_server: Serve, status: int, body: Any, message: str) -> None:
    with (
        client_of(http_server({"GET /api/v1/whoami": (status, body)})) as client,
        pytest.raises(Failure, match=message),
    ):
        client.get("whoami")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "not an address"])
def test_nothing_there_says_how_to_start_it(url: str) -> None:
    with client_of(url) as client, pytest.raises(Unreachable, match=r"nothing answers at .*proctor up"):
        client.get("whoami")


def test_pages_follow_the_cursor(http_server: Serve) -> None:
    url = http_server(
        {
            "GET /api/v1/runs?limit=200": (200, {"items": [1, 2], "next_cursor": "n"}),
            "GET /api/v1/runs?cursor=n&limit=200": (200, {"items": [3], "next_cursor": None}),
        }
    )
    with client_of(url) as client:
        assert list(client.pages("runs")) == [1, 2, 3]


def test_a_benchmark_is_found_by_key_even_with_a_slash(http_server: Serve) -> None:
    url = http_server({"GET /api/v1/benchmarks?key=acme%2Ftiny": (200, {"items": [{"id": "b1"}]})})
    with client_of(url) as client:
        assert find_benchmark(client, "acme/tiny") == {"id": "b1"}


def test_a_mistyped_benchmark_gets_a_suggestion(http_server: Serve) -> None:
    listed = {"items": [{"key": "first-steps"}], "next_cursor": None}
    url = http_server(
        {
            "GET /api/v1/benchmarks?key=frst-steps": (200, {"items": []}),
            "GET /api/v1/benchmarks?limit=200": (200, listed),
        }
    )
    with client_of(url) as client, pytest.raises(Failure, match="no benchmark frst-steps: did you mean first-steps"):
        find_benchmark(client, "frst-steps")
