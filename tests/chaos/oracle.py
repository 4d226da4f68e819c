"""What the same models come to where nothing fails, and how what was found differs from it."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from benanza.pipeline import run
from benanza.request import RunRequest
from benanza_backbone.settings import load
from benanza_backbone.store import Store
from tests.benanza.hashed_runtime import HashedRuntime

ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)

FACTS = {
    "models": "SELECT name, model_id, sha256, opset, batch, layers, event_id FROM models FINAL",
    "model_layers": "SELECT * FROM model_layers FINAL",
    "model_edges": "SELECT * FROM model_edges FINAL",
    "model_groups": "SELECT * FROM model_groups FINAL",
    "layers": "SELECT * FROM layers FINAL",
    "measurements": (
        "SELECT fingerprint, system_id, precision, variant, median_us, failure, event_id"
        " FROM measurements FINAL"
    ),
    "layer_reuse": "SELECT * FROM layer_reuse",
}
"""What the tables hold, but for when it was."""

WHEN = frozenset(("stored_at", "published_at", "first_seen_at"))


class Snapshot(NamedTuple):
    """The rows of each table as sorted texts, and the bounds."""

    tables: dict[str, list[str]]
    bounds: list[str]


def snapshot(store: Store) -> Snapshot:
    """What is in the store. Which measurement came last, and when, is left out of the bounds:
    it depends on the order in which jobs are done."""
    bounds = [
        msgspec.structs.replace(bound, computed_at=ANY_TIME, cause="", event_id="")
        for bound in store.bounds()
    ]
    return Snapshot(
        tables={table: _rows(store.query(query)) for table, query in FACTS.items()},
        bounds=sorted(map(repr, bounds)),
    )


def expected(models: Sequence[Path], folder: Path) -> Snapshot:
    """What the embedded pipeline makes of the models, with the same runtime."""
    settings = load({"BENANZA_DATA": str(folder)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benanza.pipeline.open_runtime", lambda *_: nullcontext(HashedRuntime()))
        run(RunRequest(models=tuple(map(str, models))), settings)
    with Store.open(settings.clickhouse) as store:
        return snapshot(store)


def differences(found: Snapshot, wanted: Snapshot) -> list[str]:
    """What is missing and what is too much, a line a table; none where all is as it should be."""
    lines = []
    for table, rows in {**wanted.tables, "bounds": wanted.bounds}.items():
        there = {**found.tables, "bounds": found.bounds}[table]
        missing, extra = set(rows) - set(there), set(there) - set(rows)
        if missing or extra or len(rows) != len(there):
            lines.append(
                f"{table}: {len(rows):,} rows wanted, {len(there):,} found; {len(missing):,} "
                f"missing, {len(extra):,} too many"
            )
    return lines


def _rows(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(repr({k: v for k, v in row.items() if k not in WHEN}) for row in rows)
