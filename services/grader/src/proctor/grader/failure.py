"""Why a grading gave no reward, by a row of the error policy."""


class GradingError(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message
