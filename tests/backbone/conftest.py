"""What tests of the backbone share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza_backbone.clickhouse.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on the real engine, embedded."""
    with Store.open(f"chdb://{tmp_path}/store") as store:
        yield store
