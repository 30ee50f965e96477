"""Find a benchmark by what a person types: key, name or id."""

import difflib

from proctor.cli.client import Client, Refused, segment
from proctor.cli.documents import Json
from proctor.cli.failure import Exit, Failure


def find_benchmark(client: Client, text: str) -> Json:
    by_key = client.get("benchmarks", key=text)["items"]
    if by_key:
        return by_key[0]
    try:
        return client.get(f"benchmarks/{segment(text)}")
    except Refused as refusal:
        if refusal.status != 404:
            raise
    known = [benchmark["key"] for benchmark in client.pages("benchmarks")]
    near = difflib.get_close_matches(text, known, 1)
    hint = f"did you mean {near[0]}?" if near else "`proctor benchmark list` shows what there is"
    raise Failure(f"there is no benchmark {text}: {hint}", code=Exit.REFUSED)
