"""What ingest is made to do in the tests by the name of a model."""

import ctypes
import os
import signal
import time
from pathlib import Path

from benanza_ingest.core import Ingested
from benanza_ingest.limits import Limits
from benanza_ingest.published import ingest_published
from benanza_schemas.events import ModelPublished


def misbehave(published: ModelPublished, limits: Limits) -> list[Ingested]:
    match published.name:
        case "crash":
            ctypes.string_at(0)
        case "killed once":
            # The file named by the address remembers that it was tried.
            if not (tried := Path(published.uri)).exists():
                tried.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(3600)
        case "hang in native code":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            time.sleep(3600)
    return ingest_published(published, limits)


def process_id(published: ModelPublished, limits: Limits) -> list[Ingested]:
    raise ValueError(str(os.getpid()))
