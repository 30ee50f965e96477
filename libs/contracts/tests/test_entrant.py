"""What an agent is called on a board, and whom it is told apart from."""

import pytest

from proctor.contracts.config import Agent
from proctor.contracts.entrant import agent_name

PROVIDER = {"type": "provider", "model": "openai/gpt-5.2", "api_key_secret": "K"}
ENDPOINT = {"type": "endpoint", "base_url": "https://h.example:8443/v1/", "model": "m", "api_key_secret": "K"}
HOSTED = {"type": "hosted", "base_model": "b", "lora_model_name": "l"}


@pytest.mark.parametrize(
    ("agent", "entrant"),
    [
        ({"harness": "oracle"}, "oracle"),
        ({"harness": "codex", "model": PROVIDER}, "codex / openai/gpt-5.2"),
        ({"harness": "codex", "model": ENDPOINT}, "codex / m @ h.example:8443/v1"),
        ({"harness": "codex", "model": HOSTED}, "codex / b:l"),
        ({"harness": "command", "name": "careful"}, "command (careful)"),
        ({"harness": "codex", "model": PROVIDER, "name": "careful"}, "codex / openai/gpt-5.2 (careful)"),
        ({"harness": "codex", "model": ENDPOINT, "name": "v 2"}, "codex / m @ h.example:8443/v1 (v 2)"),
    ],
)
def test_an_entrant_is_harness_and_model_and_where_it_runs_and_its_name(agent: dict[str, object], entrant: str) -> None:
    named = agent_name(Agent.model_validate(agent))
    assert named.entrant == entrant
    assert named.name == agent.get("name")


def test_what_an_agent_keeps_to_itself_makes_no_other_entrant() -> None:
    one = Agent(harness="command", env={"PROCTOR_COMMAND": "a"}, harness_api_key_secret="K")
    assert agent_name(one) == agent_name(Agent(harness="command"))
