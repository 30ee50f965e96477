from pathlib import Path

import pytest

from proctor.cli.platform.home import Home
from proctor.cli.platform.services import Plan, installation_environment, service_programs

NATS = "nats://proctor:{}@127.0.0.1:4222"


def test_every_service_gets_the_same_addresses_and_its_own_ready_file(tmp_path: Path) -> None:
    programs = service_programs(Home(tmp_path), Plan(port=8700, runners=2), NATS.format("a"), "postgresql://x")
    assert {program.name for program in programs} == {
        *("gateway", "registry-sync", "scheduler", "grader", "leaderboard", "sandbox-runner-1", "sandbox-runner-2")
    }
    assert {program.env["PROCTOR_DATABASE_URL"] for program in programs} == {"postgresql://x"}
    assert len({program.env["PROCTOR_READY_FILE"] for program in programs}) == 7


def test_runners_have_names_of_their_own(tmp_path: Path) -> None:
    programs = service_programs(Home(tmp_path), Plan(port=8700, runners=3), NATS.format("a"), "")
    names = [program.env["PROCTOR_RUNNER_NAME"] for program in programs if program.name.startswith("sandbox-runner")]
    assert len(set(names)) == 3


def test_the_door_closes_first(tmp_path: Path) -> None:
    programs = service_programs(Home(tmp_path), Plan(port=8700), NATS.format("a"), "")
    assert max(programs, key=lambda program: program.tier).name == "gateway"


def test_installations_are_told_apart_and_never_show_the_password() -> None:
    one, other = installation_environment(NATS.format("one")), installation_environment(NATS.format("other"))
    assert one != other
    assert one == installation_environment("nats://proctor:one@10.0.0.1:4222")
    assert "one" not in one["PROCTOR_INSTALLATION"]


def test_a_chosen_installation_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_INSTALLATION", "lab")
    assert installation_environment(NATS.format("one")) == {}


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:8700"), ("0.0.0.0", "http://127.0.0.1:8700"), ("::1", "http://[::1]:8700")],
)
def test_the_address_shown_can_be_opened(host: str, url: str) -> None:
    assert Plan(port=8700, host=host).url == url
