"""Harbor-format tasks and datasets: reading, checking, digests, packages and rewards. No service, no network."""

from proctor.tasks.artifacts import ArtifactConfig, CollectConfig
from proctor.tasks.dataset import Dataset, DatasetManifest, PinnedTask, RefusedTask, load_dataset, parse_dataset_toml
from proctor.tasks.digest import dataset_digest, environment_digest, file_digest, image_digest, task_digest
from proctor.tasks.environment import EnvironmentConfig, HealthcheckConfig, McpServerConfig
from proctor.tasks.errors import TaskInvalid
from proctor.tasks.folder import Difficulty, Step, Task, find_tasks, load_task
from proctor.tasks.limits import Limits
from proctor.tasks.package import pack_dataset, pack_task, unpack_dataset, unpack_task
from proctor.tasks.registry import (
    RegistryDataset,
    RegistryTask,
    choose_dataset,
    local_task,
    newest_version,
    parse_registry,
)
from proctor.tasks.rewards import RewardError, combine_steps, gate_failure, passed, read_rewards, score
from proctor.tasks.schema import StepConfig, TaskConfig, VerifierConfig
from proctor.tasks.task_toml import ParsedTask, parse_task_toml
from proctor.tasks.variables import VariableMissing, resolve_env, resolve_header
from proctor.tasks.verifier import VerifierEnvironment, verifier_environment, verifier_mode, verifier_script

__all__ = [
    "ArtifactConfig",
    "CollectConfig",
    "Dataset",
    "DatasetManifest",
    "Difficulty",
    "EnvironmentConfig",
    "HealthcheckConfig",
    "Limits",
    "McpServerConfig",
    "ParsedTask",
    "PinnedTask",
    "RefusedTask",
    "RegistryDataset",
    "RegistryTask",
    "RewardError",
    "Step",
    "StepConfig",
    "Task",
    "TaskConfig",
    "TaskInvalid",
    "VariableMissing",
    "VerifierConfig",
    "VerifierEnvironment",
    "choose_dataset",
    "combine_steps",
    "dataset_digest",
    "environment_digest",
    "file_digest",
    "find_tasks",
    "gate_failure",
    "image_digest",
    "load_dataset",
    "load_task",
    "local_task",
    "newest_version",
    "pack_dataset",
    "pack_task",
    "parse_dataset_toml",
    "parse_registry",
    "parse_task_toml",
    "passed",
    "read_rewards",
    "resolve_env",
    "resolve_header",
    "score",
    "task_digest",
    "unpack_dataset",
    "unpack_task",
    "verifier_environment",
    "verifier_mode",
    "verifier_script",
]
