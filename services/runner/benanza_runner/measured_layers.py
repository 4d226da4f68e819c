"""Which layers a system has measured before: a job that comes twice is done once.

A layer that failed may get another job, which asks for it again (`benanza retry`). A layer that has
a time needs none.
"""

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import BenchmarkRequested, LayerMeasured
from benanza_schemas.layer import Precision
from benanza_schemas.times import is_timed
from benanza_schemas.topics import RESULTS


class MeasuredLayers:
    """Which jobs one system has done at a precision.

    Holds the fingerprints of the layers that have a time, and of those that failed with the ids of
    their results.
    """

    def __init__(self, log: EventLog, system_id: str, precision: Precision) -> None:
        self._log = log
        self._system_id = system_id
        self._precision = precision
        self._offsets = dict.fromkeys(log.end_offsets(RESULTS), 0)
        self._timed: set[str] = set()
        self._failed: dict[str, set[str]] = {}

    def catch_up(self) -> None:
        """Reads the results that came since the last call, from any runner of the system.

        Raises `BenanzaError` if the log can't be reached.
        """
        for partition in self._offsets:
            while found := self._log.read(partition, self._offsets[partition], READ_AT_ONCE):
                for record in found:
                    self._take(record)
                self._offsets[partition] = found[-1].offset + 1

    def add(self, result: LayerMeasured) -> None:
        """Takes in a result that is measured now, and in the log with the next commit."""
        if is_timed(result):
            self._timed.add(result.fingerprint)
        else:
            self._failed.setdefault(result.fingerprint, set()).add(result.event_id)

    def has_done(self, job: BenchmarkRequested) -> bool:
        """Whether the layer has a time, or failed here in a way that the job doesn't know of."""
        failures = self._failed.get(job.fingerprint, set())
        return job.fingerprint in self._timed or not failures <= set(job.after)

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
            self.add(event)
