"""`python -m proctor.grader`"""

from functools import partial

from proctor.grader.app import serve
from proctor.grader.settings import GraderSettings
from proctor.service.process import run_service

if __name__ == "__main__":
    settings = GraderSettings()
    run_service("grader", settings, partial(serve, settings))
