"""The store of weights as a process, with status pages, until a signal ends it."""

import logging
import os
import pwd
import resource
import signal
import stat
from collections.abc import Callable, Collection
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

log = logging.getLogger(__name__)


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
        _warn_of_closed_folders(request)

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


def _warn_of_closed_folders(request: StoreRequest) -> None:
    for user in request.users:
        if folder := closed_folder(request.socket, user):
            log.warning(
                "user %d can't reach the socket, although --allow names that user, who may not "
                "enter %s; name a socket in an open folder with --socket",
                user,
                folder,
            )


def closed_folder(path: Path, user: int) -> Path | None:
    """The first folder on the way to this path that its mode closes to the user of this id."""
    groups = _groups(user)
    folders = reversed(path.absolute().parents)
    return next((each for each in folders if not _enters(each.stat(), user, groups)), None)


def _enters(folder: os.stat_result, user: int, groups: Collection[int]) -> bool:
    if user == folder.st_uid:
        needed = stat.S_IXUSR
    else:
        needed = stat.S_IXGRP if folder.st_gid in groups else stat.S_IXOTH
    return user == 0 or bool(folder.st_mode & needed)


def _groups(user: int) -> Collection[int]:
    try:
        known = pwd.getpwuid(user)
    except KeyError:
        return ()
    return os.getgrouplist(known.pw_name, known.pw_gid)
