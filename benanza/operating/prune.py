"""`prune`: makes the embedded log smaller."""

from benanza.installation.embedded import is_stored, opened_log
from benanza.results.operating import PrunedLog
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_pruning import prune
from benanza_backbone.settings import Settings


def prune_log(settings: Settings) -> PrunedLog:
    """Takes out of the embedded log what nothing but the history in the store still needs.

    Raises `BenanzaError` if the settings name a Kafka, there is no store, another process is at
    work in the folder, or the log can't be written.
    """
    if settings.kafka is not None:
        raise BenanzaError(
            "Kafka drops by itself what isn't needed; unset BENANZA_KAFKA to prune the embedded log"
        )
    if not is_stored(settings):
        raise BenanzaError(
            "without ClickHouse's engine nothing but the log knows the history of bounds, and none "
            "of it is pruned; say: pip install 'benanza[sql]'"
        )
    with opened_log(settings):
        return PrunedLog(**prune(settings.event_log, now())._asdict())
