"""How an app is run to its end, with an app that says what was done to it."""

import asyncio
from typing import cast

import faust
import pytest

from benanza_dedupe import worker
from benanza_dedupe.worker import Shutdown, run_app


class App:
    """Takes a while to start."""

    crash_reason = None

    def __init__(self, starting_s: float) -> None:
        self.done: list[str] = []
        self.consumer = self
        self._starting_s = starting_s
        self._stopped = asyncio.Event()

    def finalize(self) -> None:
        pass

    async def start(self) -> None:
        self.done.append("starting")
        await asyncio.sleep(self._starting_s)
        self.done.append("started")

    async def commit(self) -> None:
        self.done.append("committed")

    async def stop(self) -> None:
        self.done.append("stopped")
        self._stopped.set()

    async def wait_until_stopped(self) -> None:
        await self._stopped.wait()


async def ended(app: App, error: BaseException | None = None) -> list[str]:
    """What was done to an app that is told to stop while it starts."""
    shutdown = Shutdown()

    async def drain() -> None:
        app.done.append("drained")

    running = asyncio.ensure_future(run_app(cast(faust.App, app), shutdown, drain, 5.0))
    await asyncio.sleep(0.02)
    shutdown.request(error)
    await running
    return app.done


def test_what_is_starting_is_stopped_when_it_has_started() -> None:
    """Stopped while it started, one Faust app in thirty hung, and one crashed."""

    async def run() -> list[str]:
        return await ended(App(0.1))

    assert asyncio.run(run()) == ["starting", "started", "drained", "committed", "stopped"]


def test_what_never_starts_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "STARTING_S", 0.1)

    async def run() -> list[str]:
        return await ended(App(60.0))

    assert asyncio.run(run()) == ["starting", "drained", "committed", "stopped"]


def test_after_an_error_nothing_is_waited_for() -> None:
    async def run() -> list[str]:
        app = App(60.0)
        with pytest.raises(OSError, match="gone"):
            await ended(app, OSError("gone"))
        return app.done

    assert asyncio.run(run()) == ["starting", "stopped"]
