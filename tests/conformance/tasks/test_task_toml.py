"""The same verdict and the same values as Harbor on generated task.toml files."""

import json
from typing import Any

import pytest
from harbor.lint.task import _unknown_fields
from harbor.models.task.config import TaskConfig
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.tasks import TaskInvalid, parse_task_toml


def _theirs(text: str) -> dict[str, Any] | None:
    try:
        return TaskConfig.model_validate_toml(text).model_dump(mode="json")
    except (ValueError, OverflowError):
        return None


def _ours(text: str) -> dict[str, Any] | None:
    try:
        return parse_task_toml(text).config.model_dump(mode="json")
    except TaskInvalid:
        return None


def _toml(value: object) -> str:
    """A value as TOML; tables inline. JSON's strings are TOML's basic strings."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value)


def _file(table: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in table.items())


def _table(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any subset of the fields, now and then with a value of a kind that doesn't belong there."""
    odd = st.sampled_from(["", "x", 0, -1, 2.5, True, [], ["a"], {}, {"a": "b"}])
    loose = {
        name: st.integers(0, 5).flatmap(lambda n, values=values: values if n else odd)
        for name, values in fields.items()
    }
    return st.fixed_dictionaries({}, optional=loose)


def _words(*words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words)


SECONDS = st.sampled_from([1, 60.0, 0, -1, 1e9, "60", "soon"])
ENV = st.dictionaries(_words("A", "B_KEY"), _words("x", "${A}", "${A:-b}", "$A", "${", ""), max_size=2)
HOSTS = st.lists(
    _words(
        *("example.com", "EXAMPLE.com.", "*.a.b", "*.1.2.3.4", "*", "a.*.b", "*.", "", " ", "a b", "-a.b", "a_b.c"),
        *("1.2.3.4", "1.2.3.4:80", "10.0.0.0/8", "10.0.0.1/8", "::1", "[::1]", "fe80::1%eth0", "2001:DB8:0:0::/32"),
        *("http://a.b", "a.b/c", "a..b", "x" * 63 + ".y", "x" * 64 + ".y", "é.com"),
    ),
    max_size=2,
)
NETWORK = _words("public", "no-network", "allowlist", "none")
SIZES = st.sampled_from(["2G", "512m", "1.5G", "1024K", "G", "2GB", "infG", "nanM", "1e400G", " 3G ", "", 5])
HEALTH = _table(command=_words("true"), interval_sec=SECONDS, timeout_sec=SECONDS, retries=st.integers(0, 3))
HEADERS = st.dictionaries(
    _words("Authorization", "X-Api-Key", "Cookie", "X-Note", "Bad Name", "tokens", "Author"),
    _words(
        *("Bearer ${T}", "${T}", "${A}:${B}", "Token ${A}-${B}", "literal", "", " ", "${T:-}", "${T:-x}"),
        *("${API_KEY:-x}", "pre ${T} post", "${T", "${1}", "a\nb", "${A:-${B}}", "Bearer  ${T} "),
    ),
    max_size=2,
)
MCP = _table(
    name=_words("m"),
    transport=_words("sse", "http", "streamable-http", "stdio", "ws"),
    url=_words("http://m", ""),
    command=_words("run", ""),
    args=st.lists(_words("-v"), max_size=1),
    headers=HEADERS,
)
TPU = _table(type=_words("v4", ""), topology=_words("2x4", " 2x2x1 ", "2", "0x1", "2x"))
ENVIRONMENT = _table(
    build_timeout_sec=SECONDS,
    docker_image=_words("a:1", ""),
    os=_words("linux", "Windows", "mac"),
    cpus=st.sampled_from([1, 2.0, 0.5, float("inf"), float("nan"), "2"]),
    memory_mb=st.sampled_from([2048, 512, 2.0, 2.5]),
    memory=SIZES,
    storage_mb=st.sampled_from([10240, 3072]),
    storage=SIZES,
    gpus=st.integers(0, 2),
    gpu_types=st.lists(_words("H100"), max_size=1),
    tpu=TPU,
    mcp_servers=st.lists(MCP, max_size=2),
    env=ENV,
    skills_dir=_words("/skills"),
    healthcheck=HEALTH,
    workdir=_words("/app"),
    network_mode=NETWORK,
    allowed_hosts=HOSTS,
    allow_internet=st.sampled_from([True, False, "yes", 0, "maybe"]),
    dockerfile=_words("x"),
)
PHASE = {"timeout_sec": SECONDS, "user": st.sampled_from(["root", 1000, 1.5]), "network_mode": NETWORK}
COLLECT = _table(command=_words("dump"), service=_words("main", " db ", "-x", ""), timeout_sec=SECONDS)
VERIFIER = _table(
    **PHASE,
    allowed_hosts=HOSTS,
    env=ENV,
    environment_mode=_words("shared", "separate", "own"),
    environment=ENVIRONMENT,
    collect=st.lists(COLLECT, max_size=1),
)
AGENT = _table(**PHASE, allowed_hosts=HOSTS, model=_words("x"))
ARTIFACT = st.one_of(
    _words("/app/out", "a/../b", ""),
    _table(
        source=_words("/app", "rel", "C:/x", "/a/../b", ""),
        destination=_words("out", "", "/abs", "a/../b", "a\\b", "manifest.json", "manifest.json/", "."),
        exclude=st.lists(_words("*.log"), max_size=1),
        service=_words("main", "db", " main ", "-", ""),
    ),
)
ARTIFACTS = st.lists(ARTIFACT, max_size=2)
STEP = _table(
    name=_words("one", "One", "caf\u00e9", "cafe\u0301", "a/b", "..", "CON", "com1.txt", "x.", "x ", " x", "é" * 128),
    agent=AGENT,
    verifier=VERIFIER,
    min_reward=st.sampled_from([1, 0.5, {"reward": 0.5}, {"a": "b"}, "1"]),
    healthcheck=HEALTH,
    artifacts=ARTIFACTS,
)
TASK = _table(
    name=_words("org/name", "name", "a/b/c", "a/..b", "-a/b", "a/b c", "A1/b_c.d-e"),
    version=_words("1", ""),
    description=_words("d"),
    authors=st.lists(_table(name=_words("n"), email=_words("e")), max_size=1),
    keywords=st.lists(_words("k"), max_size=2),
)
FILES = _table(
    version=_words("1.0"),
    schema_version=_words("1.4", "9"),
    task=TASK,
    metadata=st.dictionaries(_words("difficulty", "x"), st.sampled_from(["easy", 1, ["a"]]), max_size=2),
    agent=AGENT,
    verifier=VERIFIER,
    environment=ENVIRONMENT,
    solution=_table(env=ENV),
    source=_words("s"),
    multi_step_reward_strategy=_words("mean", "final", "max"),
    steps=st.lists(STEP, max_size=2),
    artifacts=ARTIFACTS,
    odd=_words("x"),
)
PARTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "environment": ENVIRONMENT.map(lambda table: {"environment": table}),
    "verifier": VERIFIER.map(lambda table: {"verifier": table}),
    "agent": AGENT.map(lambda table: {"agent": table}),
    "task": TASK.map(lambda table: {"task": table}),
    "steps": st.lists(STEP, min_size=1, max_size=2).map(lambda steps: {"steps": steps}),
    "artifacts": st.lists(ARTIFACT, min_size=1, max_size=2).map(lambda entries: {"artifacts": entries}),
    "headers": HEADERS.map(
        lambda headers: {"environment": {"mcp_servers": [{"name": "m", "url": "u", "headers": headers}]}}
    ),
    "hosts": HOSTS.map(lambda hosts: {"environment": {"network_mode": "allowlist", "allowed_hosts": hosts}}),
    "sizes": SIZES.map(lambda size: {"environment": {"memory": size}}),
    "tpu": TPU.map(lambda tpu: {"environment": {"tpu": tpu}}),
    "collect": COLLECT.map(lambda collect: {"verifier": {"collect": [collect]}}),
}


@settings(max_examples=100, deadline=None)
@given(FILES)
def test_whole_files(table: dict[str, Any]) -> None:
    text = _file(table)
    assert _ours(text) == _theirs(text)


@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_each_part_alone(part: str, data: st.DataObject) -> None:
    """A whole file is refused for its first odd value; a part alone is often accepted, and compared."""
    text = _file(data.draw(PARTS[part]))
    assert _ours(text) == _theirs(text)


@settings(max_examples=100, deadline=None)
@given(FILES)
def test_unknown_keys_are_those_harbors_linter_names(table: dict[str, Any]) -> None:
    try:
        ours = parse_task_toml(_file(table)).unknown_keys
    except TaskInvalid:
        return
    theirs = _unknown_fields(table, TaskConfig)
    assert list(ours) == [finding.split("'")[1] for finding in theirs]
