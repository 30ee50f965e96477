import pytest
from pydantic import ValidationError

from proctor.tasks import TaskInvalid, parse_task_toml

REFUSED = [
    # text, what the message must name: the key and the way out
    ("[agent\n", ["task.toml", "not valid TOML", "line 1"]),
    ("\ufeff[agent]", ["byte order mark"]),
    ("[task]\nid = 'x'", ["task.name", "add it"]),
    ("[task]\nname = 'hello'", ["task.name", "'hello'", "org/name"]),
    ("[task]\nname = 'a/..b'", ["task.name", "org/name"]),
    ("[agent]\ntimeout_sec = 'soon'", ["agent.timeout_sec", "'soon'"]),
    ("agent = 3", ["task.toml: agent", "as a table"]),
    ("[environment]\nnetwork_mode = 'off'", ["environment.network_mode", "no-network", "'off'"]),
    ("[environment]\nallowed_hosts = ['a.example']", ["environment", "network_mode = 'allowlist'"]),
    ("[agent]\nallowed_hosts = []", ["agent", "network_mode = 'allowlist'"]),
    ("[environment]\nmemory = '2 apples'", ["environment", "'2 apples'", "'2G'"]),
    ("[environment]\nmemory = '2G'\nmemory_mb = 512", ["environment", "disagree", "keep memory_mb"]),
    ("[environment]\ncpus = inf", ["environment.cpus", "finite"]),
    ("[environment.env]\nPORT = 80", ["environment.env.PORT", "in quotes"]),
    ("[environment.tpu]\ntype = 'v4'\ntopology = '2'", ["environment.tpu.topology", "'2x4'"]),
    ("[[environment.mcp_servers]]\nname = 'm'", ["environment.mcp_servers[0]", "url"]),
    ("[[environment.mcp_servers]]\nname = 'm'\ntransport = 'stdio'", ["environment.mcp_servers[0]", "command"]),
    ("[verifier]\nenvironment_mode = 'shared'\n[verifier.environment]", ["verifier", "'separate'"]),
    ("[[steps]]\nname = 'a/b'", ["steps[0].name", "folder name"]),
    ("[[steps]]\nname = 'A'\n[[steps]]\nname = 'a'", ["steps", "'a'", "rename"]),
    ("artifacts = [{ source = '/a/../b' }]", ["artifacts[0]", "'..'"]),
    ("artifacts = [{ source = 'x', service = 'db' }]", ["artifacts[0]", "absolute"]),
    ("artifacts = [{ source = '/x', destination = '/y' }]", ["artifacts[0]", "relative"]),
]


@pytest.mark.parametrize(("text", "named"), REFUSED)
def test_a_refusal_names_the_key_the_problem_and_the_fix(text: str, named: list[str]) -> None:
    with pytest.raises(TaskInvalid) as refused:
        parse_task_toml(text)
    for words in named:
        assert words in str(refused.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(TaskInvalid) as refused:
        parse_task_toml("[agent]\ntimeout_sec = 'a'\n[verifier]\ntimeout_sec = 'b'")
    assert [line.split(": ")[1] for line in str(refused.value).splitlines()] == [
        "verifier.timeout_sec",
        "agent.timeout_sec",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[environment.env]\nTOKEN = 12345678",
        "[[environment.mcp_servers]]\nname='m'\nurl='http://m'\nheaders={Authorization='Bearer 12345678'}",
        "[[environment.mcp_servers]]\nname='m'\nurl='http://m'\nheaders={X-Note='${API_KEY:-12345678}'}",
    ],
)
def test_a_refusal_never_repeats_a_credential(text: str) -> None:
    with pytest.raises(TaskInvalid) as refused:
        parse_task_toml(text)
    assert "12345678" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("version = '1.0'\n[environment]\nmemory = '1G'\nstorage = '1G'\nallow_internet = true", []),
        ("colour = 'red'\n[environment]\ndockerfile = 'x'", ["colour", "environment.dockerfile"]),
        ("[metadata]\nanything.goes = true\n[environment.env]\nANY = 'x'", []),
        ("[[steps]]\nname = 'a'\n[[steps]]\nname = 'b'\n[steps.agent]\ntimeout = 1", ["steps[1].agent.timeout"]),
        ("artifacts = ['/a', { source = '/b', mode = 1 }]", ["artifacts[1].mode"]),
        ("[verifier.environment]\nmemory = '1G'\nimage = 'x'", ["verifier.environment.image"]),
    ],
)
def test_unknown_keys_are_reported_and_old_ones_are_not(text: str, expected: list[str]) -> None:
    assert list(parse_task_toml(text).unknown_keys) == expected


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("", "public"),
        ("allow_internet = false", "no-network"),
        ("allow_internet = true", "public"),
        ("allow_internet = false\nnetwork_mode = 'public'", "public"),
        ("allow_internet = true\nnetwork_mode = 'no-network'", "no-network"),
        ("allow_internet = false\nallowed_hosts = []", "public"),
        ("network_mode = 'allowlist'\nallowed_hosts = ['Example.COM.', '2001:DB8::0', '10.0.0.0/8']", "allowlist"),
    ],
)
def test_allow_internet_becomes_a_network_mode_unless_one_is_given(text: str, mode: str) -> None:
    for table in ("environment", "verifier.environment"):
        config = parse_task_toml(f"[{table}]\n{text}").config
        environment = config.environment if table == "environment" else config.verifier.environment
        assert environment is not None
        assert environment.network_mode == mode


def test_hosts_and_sizes_take_one_form() -> None:
    config = parse_task_toml(
        "[environment]\nmemory = '1.5g'\nstorage = '512M'\ncpus = 2.0\nos = 'Linux'\n"
        "network_mode = 'allowlist'\nallowed_hosts = [' Example.COM. ', '2001:DB8:0::1', '*.a.b', '10.0.0.0/8']"
    ).config.environment
    assert (config.memory_mb, config.storage_mb, config.cpus, config.os) == (1536, 512, 2, "linux")
    assert config.allowed_hosts == ("example.com", "2001:db8::1", "*.a.b", "10.0.0.0/8")


def test_a_config_cannot_be_changed() -> None:
    config = parse_task_toml("").config
    with pytest.raises(ValidationError):
        config.agent.timeout_sec = 1  # pyright: ignore[reportAttributeAccessIssue]
