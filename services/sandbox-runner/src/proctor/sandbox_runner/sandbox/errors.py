"""What can go wrong with a sandbox, and whether trying again can help."""

from enum import StrEnum


class ErrorKind(StrEnum):
    BUILD_FAILED = "build_failed"
    BUILD_TIMEOUT = "build_timeout"
    IMAGE_MISSING = "image_missing"
    ENGINE_UNAVAILABLE = "engine_unavailable"
    ENGINE_PERMISSION = "engine_permission"
    START_FAILED = "start_failed"
    START_TIMEOUT = "start_timeout"
    SANDBOX_GONE = "sandbox_gone"
    UNSUPPORTED_ENVIRONMENT = "unsupported_environment"
    DISK_FULL = "disk_full"
    TRANSFER_TOO_LARGE = "transfer_too_large"
    TRANSFER_FAILED = "transfer_failed"
    USER_MISSING = "user_missing"


_RETRY_CAN_HELP = {
    ErrorKind.BUILD_FAILED: False,
    ErrorKind.BUILD_TIMEOUT: False,
    ErrorKind.IMAGE_MISSING: True,
    ErrorKind.ENGINE_UNAVAILABLE: True,
    ErrorKind.ENGINE_PERMISSION: False,
    ErrorKind.START_FAILED: True,
    ErrorKind.START_TIMEOUT: True,
    ErrorKind.SANDBOX_GONE: True,
    ErrorKind.UNSUPPORTED_ENVIRONMENT: False,
    ErrorKind.DISK_FULL: True,
    ErrorKind.TRANSFER_TOO_LARGE: False,
    ErrorKind.TRANSFER_FAILED: True,
    ErrorKind.USER_MISSING: False,
}


class SandboxError(Exception):
    """A sandbox could not do its part; `retry` says whether the same call may succeed later."""

    def __init__(self, kind: ErrorKind, message: str, *, retry: bool | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry = _RETRY_CAN_HELP[kind] if retry is None else retry

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
