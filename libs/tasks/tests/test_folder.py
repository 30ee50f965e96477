from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.tasks import TaskInvalid, find_tasks, load_task, verifier_environment, verifier_mode, verifier_script

MakeTask = Callable[..., Path]

REFUSED = [
    # files, what the message must name
    ({"task.toml": None}, ["hello", "task.toml"]),
    ({"task.toml": "[agent"}, ["task.toml", "not valid TOML"]),
    ({"instruction.md": None}, ["instruction.md", "missing"]),
    ({"tests/test.sh": None}, ["tests/test.sh", "missing"]),
    ({"tests/test.sh": None, "tests/test.bat": ""}, ["tests/test.sh", "missing"]),
    ({"task.toml": "[environment]\nos = 'windows'"}, ["tests/test.bat", "missing"]),
    ({"environment/Dockerfile": None}, ["environment", "docker_image"]),
    ({".gitignore": "tests/\n"}, ["tests/test.sh", ".gitignore"]),
    ({".gitignore": "*.md\n"}, ["instruction.md", ".gitignore"]),
    ({"tests/.harborignore": "test.sh\n"}, ["tests/test.sh", ".harborignore"]),
    ({"task.toml": "[[steps]]\nname = 'one'"}, ["steps/one/instruction.md", "missing"]),
    (
        {"task.toml": "[[steps]]\nname = 'one'", "steps/one/instruction.md": "x", "tests/test.sh": None},
        ["steps/one/tests/test.sh or tests/test.sh"],
    ),
    ({"tests/bad\nname": ""}, ["bad", "control characters", "rename"]),
    ({"environment/back\\slash": ""}, ["backslash", "rename"]),
    ({"README.md/x": ""}, ["README.md", "folder"]),
    ({"solution": "x"}, ["solution", "file"]),
]


@pytest.mark.parametrize(("files", "named"), REFUSED)
def test_a_refusal_names_the_file_and_the_problem(
    make_task: MakeTask, files: dict[str, str | None], named: list[str]
) -> None:
    with pytest.raises(TaskInvalid) as refused:
        load_task(make_task(files=files))
    for words in named:
        assert words in str(refused.value)


@pytest.mark.parametrize("name", ["-rf", ".hidden", " space", "tab\tname", "new\nline", "back\\slash"])
def test_a_folder_with_an_odd_name_gives_no_task_its_name(make_task: MakeTask, name: str) -> None:
    with pytest.raises(TaskInvalid, match="name"):
        load_task(make_task(name))
    assert load_task(make_task(name, {"task.toml": "[task]\nname = 'a/b'"})).name == "a/b"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("instruction.md", "/etc/hostname"),
        ("tests/test.sh", "/bin/true"),
        ("environment/etc", "/etc"),
        ("environment/up", "../../outside"),
        ("solution/all", "."),
        ("tests/.harborignore", "/etc/hostname"),
        (".gitignore", "/etc/hostname"),
        ("environment", "/etc"),
    ],
)
def test_links_must_stay_in_the_task(make_task: MakeTask, link: str, target: str) -> None:
    files = {link: None, "environment/Dockerfile": None if link == "environment" else "FROM x", "solution/solve.sh": ""}
    root = make_task(files=files)
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(target)
    with pytest.raises(TaskInvalid, match="link"):
        load_task(root)


def test_links_that_dont_count_and_links_inside_are_fine(make_task: MakeTask) -> None:
    root = make_task(files={".gitignore": "venv\n", "environment/data/a": "1"})
    (root / "environment" / "venv").symlink_to("/usr")
    (root / "environment" / "same").symlink_to("data")
    assert load_task(root).name == "hello"


def test_what_a_task_says_about_itself(make_task: MakeTask) -> None:
    task = load_task(
        make_task(
            files={
                "task.toml": """
                    odd = 1
                    [task]
                    name = "org/greet"
                    keywords = ["shell", "demo"]
                    [metadata]
                    category = "programming"
                    difficulty = "Medium"
                    tags = ["demo", "text", 3]
                    [environment.env]
                    A = "${A}"
                    B = "${B:-}"
                    C = "plain ${C}"
                    [[environment.mcp_servers]]
                    name = "m"
                    url = "http://m"
                    headers = { Authorization = "Bearer ${TOKEN}" }
                    [verifier.env]
                    JUDGE = "${JUDGE_KEY}"
                    [solution.env]
                    S = "${SOLVE}"
                """,
                "instruction.md": "<!-- canary 123 -->\n# CANARY\n\n \nDo it.\n# canary stays\n",
                "environment/docker-compose.yaml": "services: {}",
            }
        )
    )
    assert (task.name, task.category, task.difficulty) == ("org/greet", "programming", "medium")
    assert task.tags == ("demo", "text", "shell")
    assert task.instruction == "Do it.\n# canary stays\n"
    assert (task.has_dockerfile, task.has_compose) == (True, True)
    assert task.needed_variables == ("A", "JUDGE_KEY", "SOLVE", "TOKEN")
    assert [warning for warning in task.warnings if "odd" in warning]


@pytest.mark.parametrize("given", ['"unknown"', '"core"', "3", '""', '"<15 min fix"', "true"])
def test_a_difficulty_is_never_inferred(make_task: MakeTask, given: str) -> None:
    task = load_task(make_task(files={"task.toml": f"[metadata]\ndifficulty = {given}\nexpert_time_estimate_min = 1"}))
    assert task.difficulty is None
    assert any("metadata.difficulty" in warning for warning in task.warnings)


def test_steps_have_their_own_instructions_variables_and_scripts(make_task: MakeTask) -> None:
    root = make_task(
        files={
            "task.toml": """
                [[steps]]
                name = "one"
                [steps.verifier.env]
                K = "${STEP_KEY}"
                [[steps]]
                name = "two"
            """,
            "instruction.md": None,
            "steps/one/instruction.md": "# canary\n\nFirst",
            "steps/one/tests/test.sh": "",
            "steps/two/instruction.md": "Second",
        }
    )
    task = load_task(root)
    assert [(step.name, step.instruction) for step in task.steps] == [("one", "First"), ("two", "Second")]
    assert (task.instruction, task.needed_variables) == ("", ("STEP_KEY",))
    scripts = [verifier_script(root, task.config, step.config) for step in task.steps]
    assert scripts == ["steps/one/tests/test.sh", "tests/test.sh"]


@pytest.mark.parametrize(
    ("config", "files", "expected"),
    [
        ("", {}, None),
        ("[verifier]\nenvironment_mode = 'separate'", {}, ("environment", False, None)),
        ("[verifier]\nenvironment_mode = 'separate'", {"tests/Dockerfile": "FROM x"}, ("tests", True, None)),
        ("", {"tests/Dockerfile": "FROM x"}, None),
        ("[verifier.environment]\ndocker_image = 'judge:1'", {}, ("tests", True, "judge:1")),
        ("[environment]\ndocker_image='a:1'\n[verifier.environment]\ncpus = 1", {}, ("environment", False, "a:1")),
    ],
)
def test_where_the_verifier_runs(
    make_task: MakeTask, config: str, files: dict[str, str], expected: tuple[str, bool, str | None] | None
) -> None:
    root = make_task(files={"task.toml": config, **files})
    task = load_task(root)
    found = verifier_environment(root, task.config)
    assert (found and (found.folder, found.has_tests, found.config.docker_image)) == expected
    assert verifier_mode(task.config) == ("separate" if expected else "shared")


@pytest.mark.parametrize(
    ("config", "script"),
    [
        ("[verifier.environment]\nos = 'windows'", "tests/test.bat"),
        ("[environment]\nos = 'windows'\n[verifier.environment]\ncpus = 1", "tests/test.bat"),
        ("[environment]\nos = 'windows'\n[verifier.environment]\nos = 'linux'", "tests/test.sh"),
    ],
)
def test_the_script_is_for_the_verifiers_own_system(make_task: MakeTask, config: str, script: str) -> None:
    task = load_task(make_task(files={"task.toml": config, "tests/test.bat": ""}))
    assert verifier_script(task.path, task.config) == script


def test_find_tasks(make_task: MakeTask, tmp_path: Path) -> None:
    first, second = make_task("set/b"), make_task("set/group/a")
    make_task("set/b/tests/fixture")
    make_task("set/.hidden/c")
    (tmp_path / "set" / "loop").symlink_to(tmp_path / "set")
    assert find_tasks(tmp_path / "set") == [first, second]
    assert find_tasks(first) == [first]
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "nowhere"):
        with pytest.raises(TaskInvalid, match=wrong):
            find_tasks(tmp_path / wrong)
