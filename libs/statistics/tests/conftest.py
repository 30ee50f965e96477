from collections.abc import Callable, Sequence

import pytest
from hypothesis import settings

from proctor.statistics import Entrant

settings.register_profile("statistics", deadline=None)
settings.load_profile("statistics")


@pytest.fixture(scope="session")
def entrant() -> Callable[..., Entrant]:
    def build(name: str, successes: Sequence[int], attempts: int = 1, /, **fields: object) -> Entrant:
        """A complete run of tasks t0000, t0001, ... unless the fields say otherwise."""
        given: dict[str, object] = {
            "finished": 1,
            "version": "1.0",
            "attempts_per_task": attempts,
            "tasks": tuple(f"t{i:04}" for i in range(len(successes))),
            "successes": tuple(successes),
            "attempts": (attempts,) * len(successes),
        }
        return Entrant(name=name, **(given | fields))  # pyright: ignore[reportArgumentType]

    return build
