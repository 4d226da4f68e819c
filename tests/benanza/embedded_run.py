"""What the embedded pipeline makes of models, for other installations to be compared with."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from benanza.request import RunRequest
from benanza.running import pipeline
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.settings import Settings
from tests.benanza.data_folder import settings_in
from tests.benanza.hashed_runtime import HashedRuntime

ANY_TIME = datetime(2026, 11, 21, tzinfo=UTC)


def run_embedded(models: Sequence[str], folder: Path) -> Settings:
    """Runs it with measurements that follow from the layers; what it leaves is in the folder."""
    settings = settings_in(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(HashedRuntime()))
        pipeline.run(RunRequest(models=tuple(models)), settings)
    return settings


class FoundBounds(NamedTuple):
    """Bounds as people read them, and with all that is stored of them."""

    bounds: list[ModelBound]
    stored: list[str]


def comparable(store: Store) -> FoundBounds:
    """All bounds, but for when and after which measurement each was found: that depends on the
    order in which jobs are done."""
    rows = store.query("SELECT * EXCEPT (computed_at, cause, event_id) FROM current_bounds")
    return FoundBounds(store.bounds(), sorted(map(repr, rows)))
