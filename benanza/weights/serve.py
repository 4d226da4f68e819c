"""The store of weights as a process, with status pages, until a signal ends it."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import NamedTuple

import psutil

from benanza.weights.disk import DiskTier
from benanza.weights.gpu import GpuTier
from benanza.weights.server import WeightServer
from benanza.weights.store import WeightStore
from benanza_backbone.service.process import DONE, FAILED
from benanza_backbone.service.status_server import Check, StatusServer
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.allowed import allowed_of


class StoreRequest(NamedTuple):
    """What to serve where. Without `memory_bytes`, half of the machine's memory; without `disk`, no
    copies on disk; without `gpu_bytes` none on GPUs.
    """

    socket: Path
    memory_bytes: int | None
    disk: Path | None
    disk_bytes: int
    users: tuple[int, ...]
    gpu_bytes: int | None = None


def serve_weights(request: StoreRequest, settings: Settings, started: Callable[[str], None]) -> int:
    """Serves until SIGTERM or SIGINT, tells `started` the address of the status pages, and returns
    the exit status. Tenants keep what they have mapped. A second signal ends the process at once.

    Call it in the main thread. Raises `BenanzaError` if the socket, the folder or the status port
    can't be had.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # a tenant takes one file or more
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    memory_bytes = request.memory_bytes or psutil.virtual_memory().total // 2
    disk = None if request.disk is None else DiskTier(request.disk, request.disk_bytes)
    gpus = None if request.gpu_bytes is None else GpuTier(request.gpu_bytes)
    stop = Event()

    def heed(*_: object) -> None:
        if stop.is_set():
            os._exit(FAILED)  # without waiting for what is being copied to disk
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, heed)
    with (
        WeightStore(memory_bytes, disk) as store,
        WeightServer(
            request.socket,
            store,
            users=request.users,
            allowed=allowed_of(settings),
            limits=limits_of(settings),
            gpus=gpus,
        ) as server,
    ):

        def checks() -> list[Check]:
            return [
                Check("tenants are taken on", server.is_open(), str(request.socket)),
                Check("weights", ok=True, detail=store.state()),
            ]

        with StatusServer(
            settings.metrics_port,
            checks,
            liveness=checks,
            host=settings.metrics_host,
            name="weights",
        ) as status:
            started(status.address)
            stop.wait()
    if gpus is not None:
        gpus.close()
    return DONE
