"""The runner's settings, `PROCTOR_RUNNER_*` beside the shared ones."""

import os
from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from proctor.service.settings import Settings

BackendChoice = Literal["auto", "docker", "bubblewrap"]


class RunnerSettings(Settings):
    """`runner_capacity`: sandboxes at once, those that await grading included."""

    model_config = SettingsConfigDict(env_prefix="PROCTOR_", frozen=True, extra="ignore")

    runner_name: str = "runner-1"
    runner_capacity: int = Field(default_factory=lambda: max(2, os.cpu_count() or 1), ge=1, le=1024)
    runner_pool: str = "default"
    backend: BackendChoice = "auto"
