"""The benches: `.venv/bin/python tests/bench/run.py [--only NAME]...`, each NAME one of those below."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable

import append
import attempts
import engine_floor
import folds
import gateway_lists
import gateway_logs
import gateway_outputs
import gateway_submit
import harbor_jobs
import report
import startup
from report import Row

BENCHES: dict[str, Callable[[], list[Row]]] = {
    "append": lambda: asyncio.run(append.measure()),
    "folds": folds.measure,
    "startup": startup.measure,
    "engine": engine_floor.measure,
    "bubblewrap": lambda: asyncio.run(attempts.measure("bubblewrap")),
    "docker": lambda: asyncio.run(attempts.measure("docker")),
    "docker-none": lambda: asyncio.run(attempts.measure("docker", "no-network")),
    "gateway-submit": lambda: asyncio.run(gateway_submit.measure()),
    "gateway-lists": lambda: asyncio.run(gateway_lists.measure()),
    "gateway-logs": lambda: asyncio.run(gateway_logs.measure()),
    "gateway-outputs": lambda: asyncio.run(gateway_outputs.measure()),
    "harbor": harbor_jobs.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure, and keep what was measured.")
    parser.add_argument("--only", action="append", choices=BENCHES, metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--dry", action="store_true", help="show the numbers without keeping them")
    arguments = parser.parse_args()
    load, rows = round(os.getloadavg()[0], 2), list[Row]()
    for name in arguments.only or BENCHES:
        began = time.monotonic()
        found = BENCHES[name]()
        for one in found:
            print(_line(one))
        print(f"-- {name}: {time.monotonic() - began:.0f} s\n", flush=True)
        rows += found
    if not arguments.dry:
        print(report.write(rows, load))


def _line(one: Row) -> str:
    spread = "".join(
        f"  {name} {value:,.3f}" for name, value in (("p95", one.p95), ("p99", one.p99)) if value is not None
    )
    more = "".join(f"\n    {key}: {value}" for key, value in one.more.items())
    return f"{one.name:64} {one.p50:12,.3f} {one.unit:6}{spread}  n={one.n}{more}"


if __name__ == "__main__":
    main()
