"""The grader's settings."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from proctor.service.settings import Settings


class GraderSettings(Settings):
    """`grader_capacity`: gradings at once. They mostly wait for the verifier, in a sandbox elsewhere."""

    model_config = SettingsConfigDict(env_prefix="PROCTOR_", frozen=True, extra="ignore")

    grader_name: str = "grader-1"
    grader_capacity: int = Field(default=16, ge=1, le=1024)
    grader_pool: str = "default"
