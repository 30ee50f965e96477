"""In place of the web UI's pages, whose addresses are in answers. They hold no data, so they need no token."""

import re
from typing import Any, Final

from litestar import MediaType, get
from litestar.params import FromPath

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@/-]{0,199}")
_PAGE: Final = """\
This is Proctor, a platform that benchmarks AI agents. It has no web UI yet, which would show {what} here.
Until it does, ask for that with

    proctor {ours}

or

    osmosis {osmosis}
"""


@get("/benchmarks", media_type=MediaType.TEXT, include_in_schema=False, sync_to_thread=False)
def benchmarks_page() -> str:
    return _PAGE.format(what="the benchmarks", ours="benchmark list", osmosis="benchmark list")


@get("/benchmarks/{benchmark:path}", media_type=MediaType.TEXT, include_in_schema=False, sync_to_thread=False)
def benchmark_page(benchmark: FromPath[str]) -> str:
    command = f"benchmark info {_shown(benchmark.strip('/'))}"
    return _PAGE.format(what="this benchmark", ours=command, osmosis=command)


@get("/benchmarks/runs/{run:str}", media_type=MediaType.TEXT, include_in_schema=False, sync_to_thread=False)
def run_page(run: FromPath[str]) -> str:
    name = _shown(run)
    return _PAGE.format(what="this run", ours=f"run info {name}", osmosis=f"benchmark runs info {name}")


def _shown(name: str) -> str:
    """Nothing but a name is repeated, since people copy what a page says."""
    return name if _NAME.fullmatch(name) else "ID"


HANDLERS: Final[list[Any]] = [benchmarks_page, benchmark_page, run_page]
