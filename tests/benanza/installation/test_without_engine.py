"""A folder where ClickHouse's engine isn't installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza.installation import embedded
from benanza.installation.answers import FOLDER
from benanza.installation.configured import known_store
from benanza.looking.bounds import known_bounds
from benanza.looking.explain import known_explanations
from benanza.request import BoundPolicy
from benanza.results.result import Result
from benanza_backbone.clickhouse import connection
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration


def looks(settings: Settings) -> Iterator[Result]:
    policy = BoundPolicy(("fp16",))
    yield known_bounds(settings, (), policy, {}, None)
    yield known_explanations(settings, ["squeezenet"], policy, {})


def test_what_is_known_is_the_same_and_the_engine_takes_over_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = recorded_models(tmp_path / "data")
    store = settings.data / "clickhouse"
    shutil.rmtree(store)
    with monkeypatch.context() as patch:
        for module in (embedded, connection):
            patch.setattr(module, "has_engine", lambda: False)
        without_engine = list(looks(settings))
        assert [path.name for path in store.iterdir()] == [FOLDER]
        with (
            pytest.raises(BenanzaError, match=r"say: pip install 'benanza\[sql\]'"),
            Store.open(settings.clickhouse),
        ):
            pass
    with known_store(settings) as known:
        (row,) = known.query("SELECT uniqExact(model) AS models FROM current_bounds")
        assert row == {"models": 3}
    assert list(looks(settings)) == without_engine
