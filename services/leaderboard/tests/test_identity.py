import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contracts.entrant import AgentName
from proctor.contracts.ids import Cell
from proctor.leaderboard.identity import identities


def named(harness: str, model: str | None = None, name: str | None = None) -> AgentName:
    return AgentName(name, harness, model, None, harness)


@pytest.mark.parametrize(
    ("agent", "tasks", "cell", "identity"),
    [
        (named("oracle"), ["hello"], Cell(0, 0, 1), "0-oracle__hello__1"),
        (named("codex", "openai/gpt-5.2"), ["acme/a b"], Cell(0, 0, 12), "0-codex-openai-gpt-5.2__acme-a-b__12"),
        (named("command", None, "v 2/careful"), ["hello"], Cell(0, 0, 1), "0-command-v-2-careful__hello__1"),
        (named("codex", "gpt-5.2", "careful"), ["hello"], Cell(0, 0, 1), "0-codex-gpt-5.2__hello__1"),
        (named("a_b"), ["../x__y"], Cell(0, 0, 1), "0-a-b__x-y__1"),
    ],
)
def test_identities_read_as_the_design_says(agent: AgentName, tasks: list[str], cell: Cell, identity: str) -> None:
    assert identities([agent], tasks).of(cell) == identity


def test_tasks_whose_slugs_are_equal_get_six_hex_of_their_digest() -> None:
    names = identities([named("h")], ["a/b", "a-b", "c"])
    first, second, third = (names.of(Cell(0, task, 1)) for task in range(3))
    assert first != second
    assert first.startswith("0-h__a-b-")
    assert len(first) == len("0-h__a-b-123456__1")
    assert third == "0-h__c__1"


@given(
    st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=8, unique=True),
    st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=3),
)
def test_every_identity_is_one_segment_and_unique_on_any_file_system(tasks: list[str], models: list[str]) -> None:
    names = identities([named("h", model) for model in models], tasks)
    made = [names.of(Cell(agent, task, 1)) for agent in range(len(models)) for task in range(len(tasks))]
    assert len({identity.casefold() for identity in made}) == len(made)
    for identity in made:
        assert len(identity.encode()) <= 255
        assert identity.isascii()
        assert not set(identity) & set('/\\:*?"<>|\0')
        assert identity.split("__")[2] == "1"
