"""What is said of the models to try."""

import hashlib

from benanza.publishing.zoo_models import whole_zoo, zoo
from benanza_ingest.decoders.forms import decoder_names
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names


def test_the_nine_come_first_and_are_all_unless_more_is_asked_for() -> None:
    nine = [PREFIX + name for name in zoo_names()]
    assert [each.model for each in zoo(exported=False).models] == nine
    assert [each.model for each in zoo(exported=True).models][:9] == nine


def test_each_has_a_checksum_a_source_and_a_licence() -> None:
    for each in whole_zoo().models:
        assert len(each.sha256) == len(hashlib.sha256().hexdigest())
        assert each.source.partition(" ")[2]
        assert each.licence in ("Apache-2.0", "BSD-3-Clause")
        assert each.task
        assert each.nodes > 10


def test_checksums_are_those_of_what_is_fetched() -> None:
    models = whole_zoo().models
    for each in (models[0], models[-1], zoo(exported=True).models[-1]):
        assert fetch(each.model, Limits(), each.sha256).sha256 == each.sha256


def test_the_whole_zoo_has_the_decoders_besides() -> None:
    rest = whole_zoo().models[len(zoo(exported=True).models) :]
    assert [each.model for each in rest] == [PREFIX + name for name in decoder_names()]
