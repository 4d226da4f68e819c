"""A service for tests, over an embedded log: each layer becomes its job.

    python -m tests.backbone.service.service_worker FOLDER

It prints the address of its status pages. A layer of 1,000 elements and more takes as many
milliseconds; then `FOLDER/busy` exists. While there is a file `FOLDER/away`, what the service
stands on is away; a file `FOLDER/defect` is a defect of the service; with `FOLDER/impatient` a turn
of a second counts as hung.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benanza_backbone import log, settings
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.process import CLOSING_S, Service
from benanza_backbone.service.processor import Refused
from benanza_backbone.service.step import Offsets, Step
from benanza_backbone.service.watchdog import Watchdog
from benanza_schemas.consumer_groups import ConsumerGroup
from benanza_schemas.events import BenchmarkRequested, LayerSeen, event_id
from benanza_schemas.topics import LAYERS


def main(folder: Path) -> int:
    log.configure("json")

    def handle(event: LayerSeen) -> list[BenchmarkRequested]:
        size = event.layer.tensors[0].shape[0]
        if size >= 1000:
            (folder / "busy").touch()
            time.sleep(size / 1000)
        return [
            BenchmarkRequested(
                event_id=event_id("BenchmarkRequested", event.fingerprint),
                fingerprint=event.fingerprint,
                layer=event.layer,
            )
        ]

    def flush(offsets: Offsets) -> Refused:
        probe()
        if (folder / "defect").exists():
            raise AssertionError("this can't be")
        return {}

    def probe() -> None:
        if (folder / "away").exists():
            raise BenanzaError("the store is away")

    @contextmanager
    def opened() -> Iterator[Step]:
        with (
            SqliteEventLog(folder / "events.sqlite") as events,
            Step(
                events,
                ConsumerGroup("service", (LAYERS,)),
                LayerSeen,
                handle,
                lambda: datetime.now(UTC),
                flush=flush,
                probe=probe,
            ) as step,
        ):
            yield step

    impatient = (folder / "impatient").exists()
    if impatient:
        patch("benanza_backbone.service.process.Watchdog", partial(Watchdog, patience_s=1)).start()
    service = Service("service", settings.load(os.environ))
    service.add("service", opened, limit=1, longest_turn_s=1 - CLOSING_S if impatient else 60)
    return service.run(lambda address: print(address, flush=True))  # noqa: T201  # for the test


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
