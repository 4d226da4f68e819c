"""`seed-known-layers`: tells dedupe of the layers that the store has jobs of."""

from benanza.results.operating import SeededLayers
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings, kafka_of
from benanza_schemas.events import LayerKnown, event_id

AT_ONCE = 10_000
"""Events between two waits for the log: about a megabyte."""


def seed_known_layers(settings: Settings) -> SeededLayers:
    """Publishes `LayerKnown` for every layer in the store's table `layers`.

    The table is filled from `jobs` alone, so each of them has had its job. The same call again
    does no harm. Raises `BenanzaError` if there is no Kafka, or it or the store can't be reached.
    """
    connection = kafka_of(settings)
    # kafka-python takes a while to import, and need not be installed.
    from benanza_backbone.kafka.log import KafkaEventLog

    with (
        Store.open(settings.clickhouse, migrates=False) as store,
        KafkaEventLog(connection) as log,
    ):
        fingerprints = store.layers_with_jobs()
        for start in range(0, len(fingerprints), AT_ONCE):
            log.append([as_message(known(f)) for f in fingerprints[start : start + AT_ONCE]])
    return SeededLayers(layers=len(fingerprints))


def known(fingerprint: str) -> LayerKnown:
    """The event that says that this layer has a job; always the same."""
    return LayerKnown(event_id=event_id("LayerKnown", fingerprint), fingerprint=fingerprint)
