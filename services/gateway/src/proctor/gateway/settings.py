"""What the gateway adds to the shared settings."""

from pydantic import Field, SecretStr

from proctor.service.settings import Settings


class GatewaySettings(Settings):
    """`PROCTOR_HOST` is where it listens; the shared `host` is the machine's own name."""

    listen_host: str = Field(default="127.0.0.1", validation_alias="PROCTOR_HOST")
    port: int = Field(default=8700, ge=0, le=65535)
    vault_key: SecretStr | None = None
    upload_bytes: int = Field(default=1024**3, gt=0)

    @property
    def owns_home(self) -> bool:
        """Whether the home was named, so that this process may put the owner's token there."""
        return "home" in self.model_fields_set
