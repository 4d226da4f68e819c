"""A store in this process, at a socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza.weights import sources
from benanza.weights.disk import DiskTier
from benanza.weights.server import WeightServer
from benanza.weights.store import WeightStore
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE

ROOM = 1_000_000


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once: nothing here changes one within a tick of the clock."""
    monkeypatch.setattr(sources, "SETTLED_S", -1.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WeightStore]:
    with WeightStore(ROOM, DiskTier(tmp_path / "disk", ROOM)) as made:
        yield made


@pytest.fixture
def socket(tmp_path: Path, store: WeightStore) -> Iterator[Path]:
    path = tmp_path / "weights.sock"
    with WeightServer(path, store, allowed=ANYWHERE, limits=Limits()):
        yield path
