"""What changed in evaluations since the system before."""

import io
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from benanza.agents.changes import changes, evaluation_changes
from benanza.installation.configured import configured_log
from benanza.render.load.changes import print_changes
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import ModelEvaluated, identified
from tests.backbone.conftest import copy_empty_store
from tests.benanza.data_folder import settings_in
from tests.schemas.samples import EVENTS, NOON

FIVE = [80.0, 82.0, 81.0, 80.5, 81.5]
AT = datetime(2026, 11, 28, tzinfo=UTC)


def row(number: int, runs: list[float], **others: Any) -> dict[str, Any]:
    version = f"1.{number}"
    return {
        "model": "squeezenet",
        "model_id": "1f",
        "device": "a CPU",
        "framework": "onnxruntime",
        "precision": "fp32",
        "scenario": "offline",
        "options": {"seed": "0"},
        "version": version,
        "driver": "",
        "libraries": {"onnxruntime": version},
        "last_at": AT + timedelta(days=number),
        "runs": [{"per_s": per_s} for per_s in runs],
        **others,
    }


def test_each_system_stands_beside_the_one_before() -> None:
    other = row(1, [50.0], options={"seed": "1"})
    found = changes([row(1, [100.0, 104.0, 98.0]), other, row(2, FIVE), row(3, [81.0])])
    assert found.others == 1
    newest, older = found.changes
    assert older.what == {"onnxruntime": ("1.1", "1.2")}
    assert (older.runs_before, older.runs) == (3, 5)
    (figure,) = older.figures
    assert (figure.before, figure.now, figure.sure) == (100.0, 81.0, True)
    assert figure.spread_before == pytest.approx(104 / 98 - 1)
    assert newest.what == {"onnxruntime": ("1.2", "1.3")}
    assert not newest.figures[0].sure  # one run says nothing of noise
    text = io.StringIO()
    print_changes(Console(file=text, width=200), found)
    assert "onnxruntime 1.1 to 1.2" in text.getvalue()
    for verdict in ("beyond it", "evaluate each again", "1 evaluation of one system alone"):
        assert verdict in text.getvalue()


def test_what_is_within_the_spread_is_no_change() -> None:
    (change,) = changes([row(1, [100.0, 90.0]), row(2, [95.0, 96.0])]).changes
    assert not change.figures[0].sure


@pytest.mark.parametrize(("before", "now"), [(1, 1), (2, 2), (3, 3), (2, 7), (4, 4), (2, 8)])
def test_where_nothing_changed_few_are_sure(before: int, now: int) -> None:
    """At most one in 20 of the orders that so many runs may have."""
    runs = range(before + now)
    orders = [
        changes([row(1, [1.0 + at for at in old]), row(2, [1.0 + at for at in {*runs} - {*old}])])
        for old in combinations(runs, before)
    ]
    sure = sum(each.changes[0].figures[0].sure for each in orders)
    assert sure == (2 if len(orders) >= 40 else 0)


@pytest.mark.integration
def test_what_is_stored_is_compared(tmp_path: Path) -> None:
    (sample,) = (event for event in EVENTS if isinstance(event, ModelEvaluated))
    newer = identified(
        replace(sample.system, libraries={**sample.system.libraries, sample.system.runtime: "9.9"})
    )
    settings = settings_in(tmp_path / "data")
    copy_empty_store(tmp_path / "data" / "clickhouse")
    with configured_log(settings) as log:
        for number, (system, per_s) in enumerate(
            [(sample.system, 100.0), (sample.system, 101.0), (newer, 90.0), (newer, 91.0)]
        ):
            event = replace(
                sample,
                event_id=f"{number}" * 32,
                evaluation_id=f"{number}" * 32,
                system=system,
                evaluated_at=NOON + timedelta(days=number),
                figures={"per_s": per_s, "queueing_p50_us": 1.0},
                failure="",
            )
            log.append([as_message(event)])
    (change,) = evaluation_changes(settings, f"zoo:{sample.name}").changes
    assert change.what[sample.system.runtime][1] == "9.9"
    (figure,) = change.figures
    assert (figure.before, figure.now, figure.sure) == (100.5, 90.5, False)
    with pytest.raises(BenanzaError, match="benanza evaluate zoo:alexnet"):
        evaluation_changes(settings, "zoo:alexnet")
