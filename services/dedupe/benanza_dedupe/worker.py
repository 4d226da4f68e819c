"""Runs a Faust app until a signal or an error ends it, and lets it finish what it has begun."""

import asyncio
import logging
import os
import signal
import time

import faust

from benanza_backbone.service.process import FAILED

STARTING_S = 10
"""So long an app that is starting is let alone: stopped meanwhile, it may take as long to end.
Without a broker it never has started."""

log = logging.getLogger(__name__)


class Shutdown:
    """Whether the service is to stop, and the error that is the reason, if one is; and whether a
    signal asked for it.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.signalled = asyncio.Event()
        self.error: BaseException | None = None

    def request(self, error: BaseException | None = None) -> None:
        """Asks for it; the first reason counts."""
        if not self.requested.is_set():
            self.error = error
            self.requested.set()

    def on_signals(self) -> None:
        """SIGTERM and SIGINT ask for it. The second one has its usual effect, and at once."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            log.info("stopping; another signal stops at once")
            self.signalled.set()
            self.request()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)


async def run_app(app: faust.App, shutdown: Shutdown, drain_timeout_s: float) -> None:
    """Runs the app until the shutdown is asked for, or the app crashes.

    Then the app finishes and commits what is in work, within the time given; else the process ends
    there, and what isn't finished comes again when the service starts again. Raises the error that
    was the reason.
    """
    app.finalize()
    starting = asyncio.ensure_future(app.start())
    running = asyncio.ensure_future(_run(app, starting))
    requested = asyncio.ensure_future(shutdown.requested.wait())
    await asyncio.wait((running, requested), return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        shutdown.request(running.exception() or app.crash_reason)
    deadline = time.monotonic() + drain_timeout_s
    if shutdown.error is None:
        await asyncio.wait((starting,), timeout=min(STARTING_S, drain_timeout_s / 2))
    stopping = asyncio.ensure_future(app.stop())
    await asyncio.wait((stopping,), timeout=deadline - time.monotonic())
    if not stopping.done():
        # Faust's services swallow a cancellation, and its threads may hang on the broker.
        log.error(
            "not stopped after %g s; what is unfinished comes again",
            drain_timeout_s,
            exc_info=shutdown.error,
        )
        os._exit(FAILED)
    running.cancel()
    requested.cancel()
    await asyncio.gather(running, requested, stopping, return_exceptions=True)
    if shutdown.error is not None:
        raise shutdown.error


async def _run(app: faust.App, starting: asyncio.Future[None]) -> None:
    await starting
    await app.wait_until_stopped()
