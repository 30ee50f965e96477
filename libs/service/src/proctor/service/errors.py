"""The errors a caller may see. `code` and `status` are turned into HTTP in one place, the gateway."""

from typing import ClassVar, NamedTuple


class Issue(NamedTuple):
    """One problem of an input: where, what, and the value that was probably meant."""

    key: str
    message: str
    correction: str | None = None


class ProctorError(Exception):
    """`message` says what is wrong and what to do about it, and holds nothing private."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, code: str | None = None, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.reported_code = code or self.code
        self.issues = issues


class Invalid(ProctorError):
    status, code = 400, "VALIDATION"


class Unauthorized(ProctorError):
    status, code = 401, "TOKEN_INVALID"


class Forbidden(ProctorError):
    status, code = 403, "FORBIDDEN"


class BillingRequired(Forbidden):
    """The workspace may not spend, or not so much."""

    code = "BILLING_REQUIRED"


class NotFound(ProctorError):
    status, code = 404, "NOT_FOUND"


class Conflicting(ProctorError):
    status, code = 409, "CONFLICT"


class TooLarge(ProctorError):
    status, code = 413, "TOO_LARGE"


class TooMany(ProctorError):
    status, code = 429, "RATE_LIMITED"

    def __init__(self, message: str, *, retry_after: int, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class NotAvailable(ProctorError):
    status, code = 503, "UNAVAILABLE"
