"""What task.toml may say and no run could use, told by the file, the key and the fix."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.tasks import TaskInvalid, load_task, parse_task_toml

MakeTask = Callable[..., Path]

HEALTH = "[environment.healthcheck]\ncommand = 'true'\n"
COLLECT = "[[verifier.collect]]\ncommand = 'true'\n"
SECONDS = [
    ("[agent]\ntimeout_sec", "agent.timeout_sec"),
    ("[verifier]\ntimeout_sec", "verifier.timeout_sec"),
    ("[environment]\nbuild_timeout_sec", "environment.build_timeout_sec"),
    ("[verifier.environment]\nbuild_timeout_sec", "verifier.environment.build_timeout_sec"),
    (f"{HEALTH}timeout_sec", "environment.healthcheck.timeout_sec"),
    (f"{HEALTH}interval_sec", "environment.healthcheck.interval_sec"),
    (f"{HEALTH}start_interval_sec", "environment.healthcheck.start_interval_sec"),
    (f"{COLLECT}timeout_sec", "verifier.collect[0].timeout_sec"),
]
REFUSED = [
    *((text, key, value) for text, key in SECONDS for value in ("nan", "inf", "-inf", "-5", "0", "604801", "1e308")),
    *((f"{HEALTH}start_period_sec", "environment.healthcheck.start_period_sec", value) for value in ("-1", "nan")),
    *(("[environment]\ncpus", "environment.cpus", value) for value in ("1e9", "-4", "0", "1025")),
    *(
        (f"[environment]\n{key}", f"environment.{key}", value)
        for key in ("memory_mb", "storage_mb")
        for value in ("-5", "0", "3", "16777217", "99999999999999", f"0x{'f' * 5000}")
    ),
    ("[environment]\nmemory", "environment.memory_mb", "'1M'"),
    ("[environment]\ngpus", "environment.gpus", "-1"),
    *(
        ("[environment]\nworkdir", "environment.workdir", value)
        for value in ("'../../x'", "'app'", "''", "'/app/../etc'", '"/a\\nb"', "'C:\\app'")
    ),
    *(
        (f"[{table}]\ndocker_image", f"{table}.docker_image", value)
        for table in ("environment", "verifier.environment")
        for value in ("'--privileged'", "'a b'", "'A'", "'a:'", "'a@sha256:1'", "'a;b'", "'/a'", f"'{'a' * 600}'")
    ),
    *(
        (f"[{table}]\nuser", f"{table}.user", value)
        for table in ("agent", "verifier")
        for value in ("'a b'", "''", "'-u'", "'a;b'", "'a:b:c'", "'a/b'", "-5", "4294967295", "'4294967295'")
    ),
    (f"{COLLECT}user", "verifier.collect[0].user", "'a b'"),
]


@pytest.mark.parametrize(("text", "key", "value"), REFUSED)
def test_a_value_that_cannot_run_is_refused_by_its_key(make_task: MakeTask, text: str, key: str, value: str) -> None:
    config = f"{text} = {value}"
    parse_task_toml(config)  # Harbor's schema reads it
    with pytest.raises(TaskInvalid, match="; write ") as refused:
        load_task(make_task(files={"task.toml": config}))
    assert str(refused.value).startswith(f"task.toml: {key}: ")


@pytest.mark.parametrize("value", ["nan", "inf", "{ all = nan }"])
def test_a_reward_to_reach_is_a_number(make_task: MakeTask, value: str) -> None:
    config = f"[[steps]]\nname = 'one'\nmin_reward = {value}\n[steps.agent]\ntimeout_sec = nan"
    with pytest.raises(TaskInvalid) as refused:
        load_task(make_task(files={"task.toml": config, "steps/one/instruction.md": "x"}))
    lines = str(refused.value).splitlines()
    assert [line.split(": ")[1].removesuffix(".all") for line in lines] == [
        "steps[0].agent.timeout_sec",
        "steps[0].min_reward",
    ]


@pytest.mark.parametrize(
    "config",
    [
        "[agent]\ntimeout_sec = 604800\nuser = 'build-user_1.x$'\n[verifier]\ntimeout_sec = 0.1\nuser = 4294967294",
        "[agent]\nuser = 0\n[verifier]\nuser = '1000:docker'",
        "[environment]\ncpus = 0.5\nmemory_mb = 4\nstorage_mb = 16777216\ngpus = 0\nworkdir = '/'",
        "[environment]\ncpus = 1024\nworkdir = '/srv/my app'\ndocker_image = ''",
        f"{HEALTH}start_period_sec = 0\ninterval_sec = 0.5",
        *(
            f"[environment]\ndocker_image = '{image}'"
            for image in (
                *("ubuntu", "ubuntu:22.04", "a/b_c/d--e:V1.0-x", "localhost:5000/a", "reg.example.com/a/b:1"),
                *("[::1]:5000/a", f"a@sha256:{'0' * 64}", f"reg.example.com:443/a/b:1@sha256:{'a' * 64}"),
            )
        ),
    ],
)
def test_values_at_the_edge_are_kept(make_task: MakeTask, config: str) -> None:
    assert load_task(make_task(files={"task.toml": config})).config == parse_task_toml(config).config


def test_a_timeout_that_is_not_given_stays_so(make_task: MakeTask) -> None:
    assert load_task(make_task()).config.agent.timeout_sec is None


def test_a_windows_task_has_a_windows_workdir(make_task: MakeTask) -> None:
    config = "[environment]\nos = 'windows'\nworkdir = 'C:\\app'"
    task = load_task(make_task(files={"task.toml": config, "tests/test.bat": ""}))
    assert task.config.environment.workdir == "C:\\app"


def test_a_number_of_thousands_of_digits_is_no_crash(make_task: MakeTask) -> None:
    for value in ("9" * 5000, f"0x{'f' * 5000}"):
        with pytest.raises(TaskInvalid, match=r"^task\.toml: "):
            load_task(make_task(files={"task.toml": f"[agent]\ntimeout_sec = {value}"}))
