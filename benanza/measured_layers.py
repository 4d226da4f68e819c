"""What a system has measured before, so that a job which comes twice is run once."""

from benanza_backbone.event_log import EventLog, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import LayerMeasured
from benanza_schemas.layer import Precision
from benanza_schemas.topics import RESULTS

READ_AT_ONCE = 1000


class MeasuredLayers:
    """Fingerprints of the layers that one system has measured at a precision, or could not.

    It holds as many as there are such layers.
    """

    def __init__(self, log: EventLog, system_id: str, precision: Precision) -> None:
        self._log = log
        self._system_id = system_id
        self._precision = precision
        self._offsets = dict.fromkeys(log.end_offsets(RESULTS), 0)
        self._fingerprints: set[str] = set()

    def catch_up(self) -> None:
        """Reads the results that have come meanwhile, whoever measured them.

        Raises `BenanzaError` if the log can't be reached.
        """
        for partition in self._offsets:
            while found := self._log.read(partition, self._offsets[partition], READ_AT_ONCE):
                for record in found:
                    self._take(record)
                self._offsets[partition] = found[-1].offset + 1

    def add(self, fingerprint: str) -> None:
        """What is measured now, and is in the log with the next commit."""
        self._fingerprints.add(fingerprint)

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._fingerprints

    def _take(self, record: Record) -> None:
        # Most results of a large installation are of other systems, and decoding takes longest.
        if self._system_id.encode() not in record.value:
            return
        try:
            event = decode(record.value)
        except DecodeError:
            return  # The analyzer sends it to the dead letters.
        if (
            isinstance(event, LayerMeasured)
            and event.system.system_id == self._system_id
            and event.precision == self._precision
        ):
            self._fingerprints.add(event.fingerprint)
