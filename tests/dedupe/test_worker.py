"""How an app is run to its end, with an app that says what was done to it."""

import asyncio
from typing import cast

import faust
import pytest

from benanza_dedupe.worker import Shutdown, run_app


class App:
    """Takes a while to start."""

    crash_reason = None

    def __init__(self, starting_s: float) -> None:
        self.done: list[str] = []
        self._starting_s = starting_s
        self._stopped = asyncio.Event()

    def finalize(self) -> None:
        pass

    async def start(self) -> None:
        self.done.append("starting")
        await asyncio.sleep(self._starting_s)
        self.done.append("started")

    async def stop(self) -> None:
        self.done.append("stopped")
        self._stopped.set()

    async def wait_until_stopped(self) -> None:
        await self._stopped.wait()


async def ended(starting_s: float, error: BaseException | None = None) -> list[str]:
    """What was done to an app that is told to stop."""
    app = App(starting_s)
    shutdown = Shutdown()
    running = asyncio.ensure_future(run_app(cast(faust.App, app), shutdown, 5.0))
    await asyncio.sleep(0.02)
    shutdown.request(error)
    if error is None:
        await running
    else:
        with pytest.raises(type(error), match=str(error)):
            await running
    return app.done


@pytest.mark.parametrize("error", [None, OSError("gone")])
def test_what_is_starting_is_stopped_at_once(error: BaseException | None) -> None:
    assert asyncio.run(ended(60.0, error)) == ["starting", "stopped"]


def test_what_is_at_work_is_stopped() -> None:
    assert asyncio.run(ended(0.0)) == ["starting", "started", "stopped"]
