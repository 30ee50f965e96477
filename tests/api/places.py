"""For schemathesis: about half of the places that it makes up become ones that are there (PLACES, as JSON)."""

import json
import os
from typing import Any

import schemathesis

REAL = json.loads(os.environ["PLACES"])


@schemathesis.hook
def map_path_parameters(_: Any, generated: dict[str, Any] | None) -> dict[str, Any] | None:
    if generated is None:
        return None
    return {name: REAL.get(name, made) if len(str(made)) % 2 else made for name, made in generated.items()}
