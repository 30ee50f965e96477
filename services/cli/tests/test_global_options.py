import pytest
from typer.main import get_group

from proctor.cli.global_options import arranged
from proctor.cli.main import app

ROOT = get_group(app)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("run list --workspace lab", "--workspace lab run list"),
        ("run --profile=ci info r --debug", "--profile=ci --debug run info r"),
        ("leaderboard b --insecure --json", "--insecure leaderboard b --json"),
        ("--home /x --json run list", "run list --home /x --json"),
        ("run --home=/x list --limit 3", "run list --home=/x --limit 3"),
        ("--json --workspace lab doctor --port 1", "--workspace lab doctor --json --port 1"),
        ("run stop r --reason --debug", "run stop r --reason --debug"),
        ("run note r -- --debug --json", "run note r -- --debug --json"),
        ("profile add ci --workspace lab --insecure", "profile add ci --workspace lab --insecure"),
        ("run list --workspace", "--workspace"),
        ("runn list --debug", "--debug runn list"),
        ("run stop list", "run stop list"),
        ("", ""),
    ],
)
def test_options_count_wherever_they_are_typed(typed: str, read: str) -> None:
    assert arranged(typed.split(), ROOT) == read.split()
