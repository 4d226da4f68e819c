"""Bounds that are known, where services over Kafka keep the store."""

from pathlib import Path

from benanza.known import known_bounds
from benanza.request import Policy
from benanza_backbone import settings
from benanza_backbone.store import Store


def test_over_kafka_only_the_store_is_opened(tmp_path: Path) -> None:
    """There is no embedded log, and may be no folder that it could lie in."""
    (tmp_path / "file").write_text("")
    dsn = f"chdb://{tmp_path}/clickhouse"
    Store.open(dsn).close()
    found = settings.load(
        {
            "BENANZA_KAFKA": "127.0.0.1:9",
            "BENANZA_CLICKHOUSE": dsn,
            "BENANZA_DATA": str(tmp_path / "file"),
        }
    )
    assert known_bounds(found, [], Policy(), None).bounds == ()
