"""`python -m proctor.leaderboard [serve | rebuild]`."""

import argparse
import asyncio
import logging

from proctor.leaderboard import app
from proctor.service.process import run_service
from proctor.service.settings import Settings, read_settings

logger = logging.getLogger(__name__)


def main() -> None:
    parser = argparse.ArgumentParser(prog="proctor.leaderboard", description="Read models and standings.")
    parser.add_argument("command", nargs="?", choices=("serve", "rebuild"), default="serve")
    command = parser.parse_args().command
    settings = read_settings(Settings)

    async def serve(stop: asyncio.Event) -> None:
        await app.serve(settings, stop)

    async def rebuild(stop: asyncio.Event) -> None:
        work = asyncio.create_task(app.rebuild(settings))
        waiter = asyncio.create_task(stop.wait())
        await asyncio.wait([work, waiter], return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        if not work.done():
            work.cancel()
            return
        logger.info("rebuilt up to %d", work.result())

    run_service("leaderboard", settings, {"serve": serve, "rebuild": rebuild}[command])


if __name__ == "__main__":
    main()
