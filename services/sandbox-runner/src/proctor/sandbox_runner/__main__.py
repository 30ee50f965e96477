"""`python -m proctor.sandbox_runner`"""

from functools import partial

from proctor.sandbox_runner.app import serve
from proctor.sandbox_runner.settings import RunnerSettings
from proctor.service.process import run_service
from proctor.service.settings import read_settings

if __name__ == "__main__":
    settings = read_settings(RunnerSettings)
    run_service("sandbox-runner", settings, partial(serve, settings))
