"""A benchmark for people: what it holds and what its tasks need."""

from collections import Counter
from collections.abc import Iterable, Iterator

from proctor.cli.display.facts import Fact
from proctor.cli.display.figures import DASH, age, seconds
from proctor.cli.display.table import FittedTable, make_table
from proctor.cli.documents import Json, named, part, parts, texts


def task_table(tasks: Iterable[Json]) -> FittedTable:
    rows = (
        [
            task["name"],
            task.get("category") or DASH,
            task.get("difficulty") or DASH,
            seconds(task.get("agent_timeout")),
            ", ".join(texts(task, "needed_variables")) or DASH,
        ]
        for task in tasks
    )
    columns = ("Task", "Category", "Difficulty", "Time limit", "Needs")
    optional = columns[1:]
    return make_table(columns, rows, right=("Time limit",), optional=optional, dispensable=optional[::-1])


def unusable(tasks: Json) -> Iterator[str]:
    """A line for each task that is left out, with its reason."""
    return (named(task["name"], task["reason"]) for task in parts(tasks, "unavailable"))


def counted(number: int, noun: str = "task") -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def benchmark_facts(benchmark: Json, tasks: Json) -> Iterator[Fact]:
    """What isn't known is empty."""
    for key in ("key", "name", "description"):
        yield key, benchmark.get(key) or ""
    yield "source", _source(benchmark)
    yield "status", f"{benchmark['status']}, changed {age(benchmark.get('updated_at'))}"
    yield "error", benchmark.get("error") or ""
    for key in ("version", "default_harness", "pass_threshold", "reward_key"):
        yield key.replace("_", " "), str(benchmark.get(key) or "")
    yield "judge", _judge(part(benchmark, "judge"))
    if benchmark.get("task_count") is None:
        return
    left_out = benchmark.get("unavailable_count") or 0
    yield "tasks", counted(benchmark["task_count"]) + (f", {left_out} can't be used" if left_out else "")
    yield "categories", ", ".join(f"{one['name']} ({one['task_count']})" for one in parts(tasks, "categories"))
    for task_set in parts(tasks, "task_sets"):
        hint = ", recommended" if task_set.get("recommended") else ""
        about = f": {task_set['description']}" if task_set.get("description") else ""
        yield "task set", f"{task_set['name']} ({counted(task_set['task_count'])}{hint}){about}"
    for need in _needs(parts(tasks, "tasks")):
        yield "needs", need


def _source(benchmark: Json) -> str:
    source = part(benchmark, "source")
    origin = source.get("origin") or source.get("name")
    kind = "ships with Proctor" if benchmark.get("managed") else source.get("kind") or ""
    return f"{kind}, {origin}" if origin else kind


def _judge(rule: Json) -> str:
    """What a run's `[execution]` gives it."""
    if not rule:
        return ""
    if rule["kind"] == "key":
        return "needs judge_api_key_secret; its model is the benchmark's"
    default = f" (else {rule['default_model']})" if rule.get("default_model") else ""
    return f"needs judge_api_key_secret and judge_model{default}"


def _needs(tasks: list[Json]) -> Iterator[str]:
    variables = Counter(name for task in tasks for name in texts(task, "needed_variables"))
    for name, count in sorted(variables.items()):
        yield f"variable {name} ({counted(count)})"
    for what, count in (
        ("a sandbox of its own for the verifier", sum(task.get("verifier_mode") == "separate" for task in tasks)),
        ("several steps", sum(task.get("steps", 1) > 1 for task in tasks)),
    ):
        if count:
            yield f"{what} ({counted(count)})"
