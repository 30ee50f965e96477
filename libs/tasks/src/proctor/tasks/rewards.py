"""From what a verifier wrote to a score.

The rules are Harbor's; where it would pass on something that isn't a number, or drop a result without a
word, the answer is a RewardError, so that a broken verifier is never read as a failed agent.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any, Final, Literal, cast

RewardErrorKind = Literal[
    "reward_missing",
    "reward_empty",
    "reward_unparsable",
    "reward_not_finite",
    "reward_no_keys",
    "reward_ambiguous",
]
Rewards = Mapping[str, Decimal]

DEFAULT_KEY: Final = "reward"
LARGEST_FILE: Final = 1 << 20
_MOST_KEYS: Final = 1000
_LONGEST_KEY: Final = 200
_ARITHMETIC: Final = Context(prec=28)


class RewardError(ValueError):
    """The verifier's output is not a score; `kind` is one word for the error table."""

    def __init__(self, kind: RewardErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: RewardErrorKind = kind


def read_rewards(files: Mapping[str, bytes]) -> dict[str, Decimal]:
    """The rewards in the files of /logs/verifier, by name relative to it. reward.json wins over reward.txt.

    A float has the value of its shortest decimal form, so 0.1 is 0.1. Booleans count as 0 and 1.
    """
    for name, read in _READERS.items():
        if name in files:
            return read(name, _text(name, files[name]))
    found = next((f"; {name} is not a name that is read" for name in files if name.startswith("reward")), "")
    raise RewardError("reward_missing", f"the verifier wrote neither {' nor '.join(_READERS)} in /logs/verifier{found}")


def score(rewards: Rewards, reward_key: str | None = None) -> Decimal:
    """The reward called `reward`, else the only one, else the benchmark's `reward_key`."""
    if not rewards:
        raise RewardError("reward_no_keys", "the verifier gave no reward at all")
    if DEFAULT_KEY in rewards:
        return rewards[DEFAULT_KEY]
    if len(rewards) == 1:
        return next(iter(rewards.values()))
    if reward_key is not None and reward_key in rewards:
        return rewards[reward_key]
    keys = ", ".join(sorted(rewards)[:10])
    wanted = f"and no {reward_key!r}" if reward_key else "and the benchmark names no reward_key"
    raise RewardError("reward_ambiguous", f"the verifier gave {keys}: no 'reward' {wanted}; name one of them")


def passed(value: Decimal, threshold: Decimal) -> bool:
    """Whether the score reaches the threshold, compared as decimals."""
    return value >= threshold


def combine_steps(strategy: Literal["mean", "final"] | None, steps: Sequence[Rewards | None]) -> dict[str, Decimal]:
    """One attempt's rewards from those of its steps, None for a step without a result.

    `mean` (the default): by key over the steps that have a result, a missing key counting 0; `final`: the last
    step's as they are.
    """
    if strategy == "final":
        graded = [steps[-1]] if steps and steps[-1] is not None else []
    else:
        graded = [step for step in steps if step is not None]
    if not graded:
        which = "the last step" if strategy == "final" else "any step"
        raise RewardError("reward_missing", f"no verifier result for {which}")
    keys = dict.fromkeys(key for step in graded for key in step)
    return {key: _mean([step.get(key, Decimal(0)) for step in graded]) for key in keys}


def gate_failure(min_reward: float | Mapping[str, float] | None, rewards: Rewards | None) -> str | None:
    """Why the steps after this one must not run, or None. A number is the least `reward`; a table has the
    least value of each key. A missing key, or a step without rewards, is below every gate."""
    gates = {} if min_reward is None else min_reward if isinstance(min_reward, Mapping) else {DEFAULT_KEY: min_reward}
    for key, least in gates.items():
        actual = float((rewards or {}).get(key, -math.inf))
        if actual < least:
            got = actual if math.isfinite(actual) else "missing"
            return f"{key} is {got}, below min_reward {least}"
    return None


def _mean(values: Sequence[Decimal]) -> Decimal:
    if len(values) == 1:
        return values[0]
    total = Decimal(0)
    for value in values:
        total = _ARITHMETIC.add(total, value)
    return _ARITHMETIC.divide(total, Decimal(len(values)))


def _text(name: str, content: bytes) -> str:
    if not content.strip():
        raise RewardError("reward_empty", f"{name} is empty")
    if len(content) > LARGEST_FILE:
        raise RewardError("reward_unparsable", f"{name} has {len(content)} bytes; rewards are a few numbers")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise RewardError("reward_unparsable", f"{name} is not UTF-8 text") from None


def _read_txt(name: str, text: str) -> dict[str, Decimal]:
    try:
        value = float(text)
    except ValueError:
        shown = text.strip()[:80]
        raise RewardError("reward_unparsable", f"{name} must hold one number, not {shown!r}") from None
    return {DEFAULT_KEY: _number(name, DEFAULT_KEY, value)}


def _read_json(name: str, text: str) -> dict[str, Decimal]:
    try:
        table: object = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise RewardError("reward_unparsable", f"{name} is not valid JSON: {error}") from None
    if not isinstance(table, dict):
        raise RewardError("reward_unparsable", f'{name} must be an object such as {{"reward": 1.0}}')
    rewards = cast("dict[str, Any]", table)
    if not rewards:
        raise RewardError("reward_no_keys", f"{name} is {{}}: it must have at least one reward")
    if len(rewards) > _MOST_KEYS:
        raise RewardError("reward_unparsable", f"{name} has {len(rewards)} keys; at most {_MOST_KEYS}")
    return {_key(name, key): _number(name, key, value) for key, value in rewards.items()}


_READERS: Final[Mapping[str, Callable[[str, str], dict[str, Decimal]]]] = {
    "reward.json": _read_json,
    "reward.txt": _read_txt,
}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key appears twice")
    return table


def _key(name: str, key: str) -> str:
    if len(key) > _LONGEST_KEY or not key.isprintable():
        raise RewardError("reward_unparsable", f"{name}: a reward's name must be printable and short")
    return key


def _number(name: str, key: str, value: object) -> Decimal:
    if not isinstance(value, int | float):
        raise RewardError("reward_unparsable", f"{name}: {key!r} must be a number, not {type(value).__name__}")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise RewardError("reward_not_finite", f"{name}: {key!r} must be a finite number")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(int(value))
