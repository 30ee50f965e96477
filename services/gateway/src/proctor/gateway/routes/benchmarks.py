"""Benchmarks, their tasks and their boards."""

from collections import Counter
from typing import Annotated, Any

from litestar import Response, Router, delete, get, post
from litestar.params import FromPath, FromQuery, QueryParameter

from proctor.contracts.manifest import Manifest
from proctor.gateway.access.middleware import at_least
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.benchmarks import Benchmark, Benchmarks, TaskList
from proctor.gateway.answers.board import Board
from proctor.gateway.body import ApiRequest
from proctor.gateway.conditional import conditional
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.folds import benchmark_head
from proctor.gateway.intents import benchmarks as intents
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, page
from proctor.gateway.readmodel import benchmarks, shapes
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import LOCATION, described
from proctor.gateway.routes.parameters import Cursor, IdempotencyKey, Limit
from proctor.service.errors import NotFound

_NO_TASKS = Manifest(version="", tasks=())
_TASK_FIELDS = {"environment_digest", "package"}


@get("/", operation_class=described(Benchmarks))
async def list_benchmarks(
    request: ApiRequest,
    edges: Opened,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    key: FromQuery[str | None] = None,
) -> dict[str, Any]:
    after = decode_cursor(cursor, str, str)
    rows = await benchmarks.listed(edges.pool, request.user.workspace, key, after, limit + 1)
    return page([shapes.benchmark(row) for row in rows], limit, "name", "id")


@post(
    "/",
    guards=[at_least(Role.ADMIN)],
    operation_class=described(Benchmark, 200, 409, body=intents.NewBenchmark, headers=LOCATION),
)
async def add_benchmark(
    request: ApiRequest, edges: Opened, idempotency_key: IdempotencyKey = None
) -> Response[dict[str, Any]]:
    wanted = await read(request, intents.NewBenchmark)
    benchmark, sequence = await intents.add(edges, request.user, wanted, idempotency_key)
    body = await _after(edges, request.user.workspace, benchmark, sequence)
    headers = {"Location": f"/api/v1/benchmarks/{benchmark}"}
    return Response(body, status_code=201 if sequence else 200, headers=headers)


@get("/{benchmark:str}", middleware=[conditional], operation_class=described(Benchmark, 304))
async def get_benchmark(request: ApiRequest, edges: Opened, benchmark: FromPath[str]) -> dict[str, Any]:
    return shapes.benchmark(await _found(edges, request, benchmark))


@get("/{benchmark:str}/tasks", middleware=[conditional], operation_class=described(TaskList, 304))
async def get_tasks(request: ApiRequest, edges: Opened, benchmark: FromPath[str]) -> dict[str, Any]:
    row = await _found(edges, request, benchmark)
    manifest = await edges.manifests.get(row["manifest"]) if row["manifest"] else _NO_TASKS
    categories = Counter(task.category for task in manifest.tasks if task.category)
    return {
        "version": row["version"],
        "tasks": [task.model_dump(mode="json", exclude=_TASK_FIELDS) for task in manifest.tasks],
        "unavailable": [task.model_dump() for task in manifest.unavailable],
        "task_sets": [
            {**task_set.model_dump(exclude={"task_names"}), "task_count": len(task_set.task_names)}
            for task_set in manifest.task_sets
        ],
        "categories": [{"name": name, "task_count": count} for name, count in sorted(categories.items())],
    }


@get("/{benchmark:str}/leaderboard", middleware=[conditional], operation_class=described(Board, 304))
async def get_leaderboard(
    request: ApiRequest,
    edges: Opened,
    benchmark: FromPath[str],
    position: Annotated[int | None, QueryParameter(name="position", ge=0, le=2**62)] = None,
) -> dict[str, Any]:
    row = await _found(edges, request, benchmark)
    return await benchmarks.board(edges.pool, request.user.workspace, row["benchmark"], position)


@post(
    "/{benchmark:str}/sync",
    guards=[at_least(Role.ADMIN)],
    status_code=202,
    operation_class=described(Benchmark, 409, body=intents.NewSync),
)
async def sync_benchmark(request: ApiRequest, edges: Opened, benchmark: FromPath[str]) -> dict[str, Any]:
    wanted = await read(request, intents.NewSync)
    row = await _found(edges, request, benchmark)
    workspace, identifier = row["workspace"], row["benchmark"]
    sequence = await intents.sync(edges, request.user, workspace, identifier, wanted.source)
    return await _after(edges, workspace, identifier, sequence)


@delete("/{benchmark:str}", guards=[at_least(Role.ADMIN)], operation_class=described(None, 409))
async def remove_benchmark(request: ApiRequest, edges: Opened, benchmark: FromPath[str]) -> None:
    row = await _found(edges, request, benchmark)
    sequence = await intents.remove(edges, request.user, row["workspace"], row["benchmark"])
    await edges.feed.passed(sequence)


async def _found(edges: Edges, request: ApiRequest, wanted: str) -> benchmarks.Row:
    row = await benchmarks.find(edges.pool, request.user.workspace, wanted)
    if row is None:
        raise NotFound(f"there is no benchmark {wanted!r} in this workspace")
    return row


async def _after(edges: Edges, workspace: str, benchmark: str, sequence: int) -> dict[str, Any]:
    """The benchmark as it is after that event: from the read model when it got there in time, else from the log."""
    if await edges.feed.passed(sequence) and (row := await benchmarks.find(edges.pool, workspace, benchmark)):
        return shapes.benchmark(row)
    folded = await benchmark_head(edges.log, workspace, benchmark)
    if folded is None:
        raise NotFound("there is no such benchmark in this workspace")
    return shapes.benchmark_from_log(folded)


router = Router(
    "/benchmarks",
    route_handlers=[
        list_benchmarks,
        add_benchmark,
        get_benchmark,
        get_tasks,
        get_leaderboard,
        sync_benchmark,
        remove_benchmark,
    ],
)
