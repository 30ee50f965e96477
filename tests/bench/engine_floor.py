"""What the Docker engine itself takes for what an attempt can't do without: create, start, one command, remove."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import docker
from report import Row, row

IMAGE = "debian:bookworm-slim"
CYCLES = 12
CONCURRENCY = (1, 2, 4)
_STEPS = ("create", "start", "command", "remove")


def measure() -> list[Row]:
    client = docker.APIClient(version="auto", max_pool_size=8)
    rows = list[Row]()
    for network in ("none", "bridge"):
        _cycle(client, network)
        for concurrent in CONCURRENCY:
            rows += _rows(client, network, concurrent)
    client.close()
    return rows


def _rows(client: docker.APIClient, network: str, concurrent: int) -> list[Row]:
    began = time.perf_counter()
    with ThreadPoolExecutor(concurrent) as pool:
        cycles = list(pool.map(partial(_cycle, client), [network] * CYCLES))
    rate = 60 * CYCLES / (time.perf_counter() - began)
    name = f"engine, network {network}, n={concurrent}"
    steps = {step: round(sorted(one[step] for one in cycles)[CYCLES // 2], 4) for step in _STEPS}
    return [
        row(f"cycle, {name}", "s", [sum(one.values()) for one in cycles], steps=steps),
        Row(f"cycles, {name}", "1/min", CYCLES, rate),
    ]


def _cycle(client: docker.APIClient, network: str) -> dict[str, float]:
    clock = [time.perf_counter()]
    config: Any = client.create_host_config(network_mode=network)
    container: str = client.create_container(IMAGE, ["bash", "-c", "sleep 60"], host_config=config)["Id"]
    clock.append(time.perf_counter())
    client.start(container)
    clock.append(time.perf_counter())
    client.exec_start(client.exec_create(container, ["true"])["Id"])
    clock.append(time.perf_counter())
    client.remove_container(container, force=True)
    clock.append(time.perf_counter())
    return {step: end - begin for step, (begin, end) in zip(_STEPS, pairwise(clock), strict=True)}
