"""The table's own checks, beside what the agent's tests see of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import faust
import pytest
from faust.exceptions import PartitionsMismatch

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe.agent import DedupeAgent, create_app
from benanza_dedupe.owners import OwnersTable
from benanza_schemas.topics import DEDUPE_OWNERS, LAYERS
from tests.dedupe.test_agent import NOON

CONNECTION = KafkaConnection(bootstrap=("127.0.0.1:1",))


class Counts:
    """A consumer that knows the topics' numbers of partitions."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.topic_partitions = counts.get


def table(folder: Path, counts: Mapping[str, int]) -> OwnersTable:
    app: faust.App = create_app(CONNECTION, folder)
    app.finalize()
    DedupeAgent(app, CONNECTION, lambda: NOON, lambda error: None)
    app.consumer = Counts(counts)  # type: ignore[assignment]  # has what the check calls
    return cast(OwnersTable, app.tables["owners"])


def test_a_changelog_that_is_not_known_yet_is_no_other_number_of_partitions(tmp_path: Path) -> None:
    counts = {LAYERS: 8, DEDUPE_OWNERS: 0}
    owners = table(tmp_path, counts)
    owners._verify_source_topic_partitions(LAYERS)
    counts[DEDUPE_OWNERS] = 7  # It looks again once the number is known.
    with pytest.raises(PartitionsMismatch, match="has 8 partitions, but the changelog"):
        owners._verify_source_topic_partitions(LAYERS)
