"""What the same models come to where nothing fails."""

from collections.abc import Sequence
from pathlib import Path

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from tests.benanza.embedded_run import run_embedded
from tests.chaos.snapshot import Snapshot, snapshot


def expected(models: Sequence[Path], folder: Path) -> Snapshot:
    """What the embedded pipeline makes of the models, with the services' runtime."""
    settings = run_embedded([str(model) for model in models], folder)
    with SqliteEventLog(settings.event_log) as log, Store.open(settings.clickhouse) as store:
        return snapshot(log, store)
