"""Lists of runs, a run and its results, as the table of results grows to a million."""

from typing import Final

from gateway_rows import PLACES, Shape, add_runs, settle
from gateway_stage import Stage, stage
from report import Row, row

from proctor.gateway.paging import encode_cursor

COUNT = 60
RUNS: Final = (20, 200, 2_000)
"""In all. With each size comes one large run; the others are usual."""
USUAL: Final = Shape(agents=1, tasks=89, attempts=5)
LARGE: Final = (Shape(8, 25, 5), Shape(8, 250, 5), Shape(8, 500, 25))


async def measure() -> list[Row]:
    rows, made, results = list[Row](), 0, 0
    async with stage() as on:
        for total, large in zip(RUNS, LARGE, strict=True):
            usual = total - made - 1
            (big,) = await add_runs(on.database, made, 1, large, history=True)
            newest = (await add_runs(on.database, made + 1, usual, USUAL))[-1]
            made, results = total, results + usual * USUAL.results + large.results
            await settle(on.database)
            rows += await _lists(on, f"{total:,} runs, {results:,} results")
            rows += await _run(on, newest, f"of {USUAL.results:,} results, {results:,} in all", USUAL)
            rows += await _run(on, big, f"of {large.results:,} results, {results:,} in all", large)
    return rows


async def _lists(on: Stage, size: str) -> list[Row]:
    total = int(size.partition(" ")[0].replace(",", ""))
    paths = {
        "runs, newest page": "/api/v1/runs",
        "runs, middle page": f"/api/v1/runs?cursor={encode_cursor(total // 2 * PLACES)}",
        "runs, by a status few have": "/api/v1/runs?status=failed",
        "runs, osmosis, last page": f"/api/cli/benchmark-runs?limit=50&offset={max(0, total - 50)}",
    }
    return [row(f"{what}, {size}", "ms", await on.times(path, COUNT)) for what, path in paths.items()]


async def _run(on: Stage, run: str, size: str, shape: Shape) -> list[Row]:
    one = f"/api/v1/runs/{run}"
    middle = encode_cursor(shape.agents // 2, shape.tasks // 2, 1)
    last = encode_cursor(shape.agents - 1, shape.tasks - 1, shape.attempts - 1)
    identity = (await on.get(f"{one}/results?cursor={last}")).json()["items"][0]["identity"]
    paths = {
        "run": one,
        "results, first page": f"{one}/results?limit=50",
        "results, middle page": f"{one}/results?limit=50&cursor={middle}",
        "results, cancelled alone": f"{one}/results?limit=50&outcome=cancelled",
        "results, of one task": f"{one}/results?limit=50&task=terminal-bench/task-{shape.tasks - 1:04}",
        "result, by its identity": f"{one}/results/{identity}",
    }
    return [row(f"{what}, {size}", "ms", await on.times(path, COUNT)) for what, path in paths.items()]
