"""What the gateway adds to the shared settings."""

from collections.abc import Mapping

from pydantic import Field, SecretStr

from proctor.contracts.metering import SandboxRates
from proctor.gateway.access.limits import Bucket
from proctor.service.settings import Settings

VERSION = r"^\d+(\.\d+)*$"


class GatewaySettings(Settings):
    """`PROCTOR_HOST` is where it listens; the shared `host` is the machine's own name."""

    listen_host: str = Field(default="127.0.0.1", validation_alias="PROCTOR_HOST")
    port: int = Field(default=8700, ge=0, le=65535)
    vault_key: SecretStr | None = None
    vault_old_keys: SecretStr | None = None
    price_sandbox_hour: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    price_cpu_hour: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    price_gib_hour: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    upload_bytes: int = Field(default=1024**3, gt=0)
    download_seconds: int = Field(default=900, ge=1, le=86400)
    public_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    osmosis_oldest: str = Field(default="0.3.0", pattern=VERSION)
    osmosis_latest: str = Field(default="0.3.8", pattern=VERSION)
    rate_sign_in: int = Field(default=60, ge=0)
    rate_tokens: int = Field(default=30, ge=0)
    rate_device: int = Field(default=300, ge=0)
    rate_submits: int = Field(default=120, ge=0)

    @property
    def rates(self) -> Mapping[Bucket, int]:
        return {
            "sign_in": self.rate_sign_in,
            "tokens": self.rate_tokens,
            "device": self.rate_device,
            "submits": self.rate_submits,
        }

    @property
    def sandbox_rates(self) -> SandboxRates:
        return SandboxRates(
            hour=self.price_sandbox_hour, cpu_hour=self.price_cpu_hour, gibibyte_hour=self.price_gib_hour
        )

    @property
    def shown_url(self) -> str:
        """Where people reach it, for the addresses in answers; without a slash at the end."""
        return (self.public_url or f"http://127.0.0.1:{self.port}").rstrip("/")

    @property
    def owns_home(self) -> bool:
        """Whether the home was named, so that this process may put the owner's token there."""
        return "home" in self.model_fields_set
