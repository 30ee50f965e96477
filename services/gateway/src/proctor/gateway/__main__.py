"""`python -m proctor.gateway`"""

import sys
from functools import partial

from proctor.gateway.app import serve
from proctor.gateway.server import CannotListen, listen
from proctor.gateway.settings import GatewaySettings
from proctor.service.process import run_service
from proctor.service.settings import read_settings


def main() -> None:
    settings = read_settings(GatewaySettings)
    try:
        listener = listen(settings.listen_host, settings.port)
    except CannotListen as error:
        sys.exit(f"proctor gateway: {error}")
    run_service("gateway", settings, partial(serve, settings, listener))


if __name__ == "__main__":
    main()
