"""A folder where ClickHouse's engine isn't installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benanza.installation import embedded
from benanza.installation.answers import FOLDER
from benanza.installation.configured import known_store
from benanza.looking.explain import known_explanations
from benanza.operating.prune import prune_log
from benanza.request import BoundPolicy
from benanza.results.explain import Explanations
from benanza_backbone.clickhouse import connection
from benanza_backbone.clickhouse.queries import MODEL_NAMES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import load
from tests.backbone.sample_events import CHECKPOINT
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration

NEEDS_SQL = r"say: pip install 'benanza\[sql\]'"


@contextmanager
def engine_missing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (embedded, connection):
            patch.setattr(module, "has_engine", lambda: False)
        yield


def test_what_is_known_is_the_same(tmp_path: Path) -> None:
    settings = recorded_models(tmp_path / "data")

    def look() -> Explanations:
        return known_explanations(settings, ["squeezenet"], BoundPolicy(("fp16",)), {})

    store = settings.data / "clickhouse"
    store.rename(tmp_path / "store")
    with engine_missing():
        without_engine = look()
    # Else what is remembered would be compared with itself.
    shutil.rmtree(store)
    (tmp_path / "store").rename(store)
    assert look() == without_engine


def test_the_engine_takes_over_later(tmp_path: Path) -> None:
    settings = load({"BENANZA_DATA": str(tmp_path)})
    with SqliteEventLog(settings.event_log) as log:
        log.append([as_message(CHECKPOINT)])
    with engine_missing():
        with known_store(settings) as known:
            assert known.query(MODEL_NAMES) == [{"name": CHECKPOINT.name}]
        with pytest.raises(BenanzaError, match=NEEDS_SQL):
            prune_log(settings)
        with pytest.raises(BenanzaError, match=NEEDS_SQL):
            Store.open(settings.clickhouse)
        assert [path.name for path in (tmp_path / "clickhouse").iterdir()] == [FOLDER]
    with known_store(settings) as known:
        assert known.query("SELECT name FROM models") == [{"name": CHECKPOINT.name}]
