"""`python -m proctor.scheduler`"""

from functools import partial

from proctor.scheduler.app import serve
from proctor.service.process import run_service
from proctor.service.settings import Settings, read_settings

if __name__ == "__main__":
    settings = read_settings(Settings)
    run_service("scheduler", settings, partial(serve, settings))
