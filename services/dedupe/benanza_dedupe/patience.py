"""Patience with a broker that is away while a client starts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiokafka.errors import KafkaConnectionError

RETRY_S = 2.0

log = logging.getLogger(__name__)


async def patiently(start: Callable[[], Awaitable[None]]) -> None:
    """Starts a client of Kafka as soon as a broker answers. Once it has started, the client itself
    sees to that; Faust ends where one can't start.
    """
    while True:
        try:
            await start()
            return
        except KafkaConnectionError as error:
            log.warning("trying again in %g s: %s", RETRY_S, error)
            await asyncio.sleep(RETRY_S)
