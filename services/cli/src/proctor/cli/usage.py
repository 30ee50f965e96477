"""A command line that can't be read, told in one line without the words of the libraries that read it."""

import re
from typing import Final

_WORDS: Final = (
    (r"Value error, ", ""),
    (r"Input should be less than or equal to", "must be at most"),
    (r"Input should be greater than or equal to", "must be at least"),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"Input should be a valid number.*", "must be a number"),
    (r"\bdir '", "folder '"),
    (r" \(env var: '\w+'\)", ""),
)


def plain(message: str) -> str:
    """`Invalid value for '--port': must be at most 65535`."""
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message.rstrip(".")
