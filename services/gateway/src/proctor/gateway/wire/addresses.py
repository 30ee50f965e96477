"""Where the pages of the web UI are. `site` is the platform's address without a slash at the end."""


def benchmark_address(site: str, benchmark: str) -> str:
    return f"{site}/benchmarks/{benchmark}"


def run_address(site: str, run: str) -> str:
    return f"{site}/benchmarks/runs/{run}"
