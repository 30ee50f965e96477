"""Every subject and stream name. Tokens are checked where a subject is built (`proctor.eventlog`)."""

EVENTS_STREAM = "EVENTS"
WORK_STREAM = "WORK"
EVENTS_ALL = "ev.>"
RUN_EVENTS = "ev.*.run.>"
BENCHMARK_EVENTS = "ev.*.benchmark.>"
OBJECT_BUCKET = "proctor"
LEADER_BUCKET = "leader"

WORK_SOURCES = {
    "ev.*.run.*.scheduler.attempt.dispatched.*": "work.attempt.{{wildcard(3)}}",
    "ev.*.run.*.scheduler.grade.dispatched.*": "work.grade.{{wildcard(3)}}",
}
"""What WORK takes from EVENTS: the dispatch event is the work item, by kind and pool."""


def run_events(workspace: str, run: str) -> str:
    return f"ev.{workspace}.run.{run}.>"


def benchmark_events(workspace: str, benchmark: str) -> str:
    return f"ev.{workspace}.benchmark.{benchmark}.>"


def work(kind: str, pool: str) -> str:
    return f"work.{kind}.{pool}"


def work_consumer(kind: str, pool: str) -> str:
    return f"{kind}-{pool}"


def beat(worker: str) -> str:
    return f"beat.{worker}"


def lease_start(worker: str) -> str:
    return f"lease.start.{worker}"


def lease_order(worker: str) -> str:
    """Where the scheduler tells a worker that an epoch is over or that the next step may begin."""
    return f"lease.order.{worker}"


def lease_sweep(worker: str) -> str:
    return f"lease.sweep.{worker}"


def vault_resolve(worker: str) -> str:
    return f"vault.resolve.{worker}"


def sandbox(identifier: str, operation: str) -> str:
    return f"sandbox.{identifier}.{operation}"
