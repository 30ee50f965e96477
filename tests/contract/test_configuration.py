"""The TOML of a run's configuration, read again by both clients."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.cli.submission import read_submission
from proctor.contracts.config import HARNESSES, RunConfig
from proctor.gateway import configuration
from proctor.gateway.submission import parse

OSMOSIS = Path(sys.prefix) / "osmosis/bin/python"
READ_BY_OSMOSIS = """
import json, sys
from pathlib import Path
from osmosis_ai.platform.cli.benchmark_config import load_benchmark_submit_config
for path in sys.argv[1:]:
    config = load_benchmark_submit_config(Path(path))
    body = {"experiment_config": config.experiment_config, "agents": config.agents_config}
    parts = {"tasks_config": config.tasks_config, "execution_config": config.execution_config, "env_config": config.env}
    body |= {name: part for name, part in parts.items() if part}
    if required := config.secrets.required:
        body["secrets"] = {"required": required, "provided": dict.fromkeys(required, "x")}
    print(json.dumps(body))
"""

shown = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=12)
named = shown.map(lambda text: f"x{text}")
secret = st.from_regex(r"\AS_[A-Z0-9_]{1,8}\Z")
value = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
env = st.dictionaries(st.from_regex(r"\AE_[A-Z0-9_]{0,8}\Z"), value, max_size=3)
header_value = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=12)
headers = st.dictionaries(st.from_regex(r"\AX-[A-Za-z0-9-]{1,8}\Z"), header_value, max_size=3)
models = st.one_of(
    st.fixed_dictionaries({"type": st.just("provider"), "model": named, "api_key_secret": secret}),
    st.fixed_dictionaries(
        {
            "type": st.just("endpoint"),
            "base_url": st.just("https://models.example/v1"),
            "model": named,
            "api_key_secret": secret,
            "extra_headers": headers,
        }
    ),
    st.fixed_dictionaries({"type": st.just("hosted"), "base_model": named, "lora_model_name": named}),
)
agents = st.lists(
    st.one_of(
        st.fixed_dictionaries({"harness": st.sampled_from(sorted(HARNESSES)), "env": env}),
        st.fixed_dictionaries({"harness": st.just("codex"), "model": models, "env": env}),
        st.fixed_dictionaries(
            {
                "harness": st.just("cursor-cli"),
                "harness_api_key_secret": st.just("CURSOR_API_KEY"),
                "model": models,
                "env": env,
            }
        ),
    ),
    min_size=1,
    max_size=4,
)
tasks = st.fixed_dictionaries(
    {},
    optional={
        "task_names": st.lists(named, min_size=1, max_size=3),
        "categories": st.lists(named, min_size=1, max_size=3),
        "task_set": st.just("parity"),
    },
)
execution = st.fixed_dictionaries(
    {
        "attempts_per_task": st.integers(1, 64),
        "timeout_multiplier": st.floats(0.1, 20),
        "max_retries": st.integers(0, 10),
    },
    optional={
        "pass_threshold": st.floats(0, 1, exclude_min=True),
        "judge_model": named,
        "judge_api_key_secret": secret,
    },
)
required = st.fixed_dictionaries({"required": st.lists(secret, max_size=4, unique=True)})
configs = st.fixed_dictionaries(
    {
        "experiment": st.fixed_dictionaries({"benchmark": named}),
        "tasks": tasks,
        "agents": agents,
        "execution": execution,
        "verifier": required,
        "secrets": required,
        "env": env,
    }
).map(RunConfig.model_validate)


def with_names(config: RunConfig) -> RunConfig:
    """What the osmosis client doesn't know."""
    agents = [agent.model_copy(update={"name": f"agent {index}"}) for index, agent in enumerate(config.agents)]
    return config.model_copy(update={"agents": agents})


def as_submitted(body: dict[str, Any]) -> RunConfig:
    """As the gateway reads it: its own harnesses call no model."""
    submission = parse(body)
    assert submission.issues == ()
    agents = [
        agent.model_copy(update={"model": None}) if agent.harness in HARNESSES else agent
        for agent in submission.config.agents
    ]
    return submission.config.model_copy(update={"agents": agents})


@settings(max_examples=150, deadline=None)
@given(configs, st.lists(st.text(), max_size=3))
def test_proctor_submits_an_equal_run(config: RunConfig, comments: list[str]) -> None:
    named = with_names(config)
    provided = dict.fromkeys(named.secrets.required, "x")
    text = configuration.toml(named, comments)
    assert as_submitted(read_submission(text, "run.toml", provided)) == named
    assert as_submitted(configuration.body(named)) == named


# the first example is the least one
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(st.lists(configs, min_size=15, max_size=15))
def test_osmosis_submits_an_equal_run(tmp_path_factory: Any, many: list[RunConfig]) -> None:
    folder = tmp_path_factory.mktemp("configs")
    files = [folder / f"{index}.toml" for index in range(len(many))]
    for file, config in zip(files, many, strict=True):
        file.write_text(configuration.toml(config, ["a comment"]), encoding="utf-8")
    command = [str(OSMOSIS), "-c", READ_BY_OSMOSIS, *map(str, files)]
    read = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert read.returncode == 0, read.stderr
    assert [as_submitted(json.loads(line)) for line in read.stdout.splitlines()] == many
