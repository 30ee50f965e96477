"""`python -m proctor.grader`"""

from functools import partial

from proctor.grader.app import serve
from proctor.grader.settings import GraderSettings
from proctor.service.process import run_service
from proctor.service.settings import read_settings

if __name__ == "__main__":
    settings = read_settings(GraderSettings)
    run_service("grader", settings, partial(serve, settings))
