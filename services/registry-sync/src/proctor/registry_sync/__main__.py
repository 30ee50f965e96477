"""`python -m proctor.registry_sync`"""

from functools import partial

from proctor.registry_sync.app import serve
from proctor.service.process import run_service
from proctor.service.settings import Settings, read_settings

if __name__ == "__main__":
    settings = read_settings(Settings)
    run_service("registry-sync", settings, partial(serve, settings))
