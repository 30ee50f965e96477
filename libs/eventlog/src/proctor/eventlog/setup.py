"""`python -m proctor.eventlog.setup`: make the streams of an installation on the bus at `PROCTOR_NATS_URL`, once."""

import asyncio
import os

from proctor.eventlog.connection import connect
from proctor.eventlog.streams import ensure_streams


async def main() -> None:
    connection = await connect(os.environ.get("PROCTOR_NATS_URL", "nats://127.0.0.1:4222"), "setup")
    await ensure_streams(connection, replicas=int(os.environ.get("PROCTOR_NATS_REPLICAS", "1")))
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
