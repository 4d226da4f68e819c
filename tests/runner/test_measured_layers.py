"""What a runner knows of the results of its system."""

import msgspec

from benanza_runner.measured_layers import MeasuredLayers
from benanza_schemas.topics import RESULTS
from tests.backbone.sample_events import CONV_MEASURED as MEASURED
from tests.growing_log import GrowingTopic


def test_a_partition_that_is_added_later_is_read_from_its_start() -> None:
    """Its results weren't seen, so that their layers were measured again."""
    later = msgspec.structs.replace(MEASURED, event_id="a" * 32, fingerprint="b" * 32)
    topic = GrowingTopic(RESULTS)
    topic.grow(MEASURED)
    measured = MeasuredLayers(topic.log(), MEASURED.system.system_id, MEASURED.precision)
    measured.catch_up()
    assert measured.results_of(MEASURED.fingerprint) == (MEASURED.event_id,)
    assert not measured.results_of(later.fingerprint)
    topic.grow(later)
    measured.catch_up()
    assert measured.results_of(later.fingerprint) == (later.event_id,)
