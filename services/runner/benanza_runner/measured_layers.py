"""Which layers a system has measured before: a job that comes twice is done once.

A layer may get another job, which asks for it again: because it failed (`benanza retry`), because
the machine was busy, or because somebody wants it so (`benanza run --again`).
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Partition, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerMeasured,
    RecordingWithdrawn,
    event_id,
    is_submitted,
    recording_of,
)
from benanza_schemas.layer import Precision
from benanza_schemas.topics import RESULTS

_WITHDRAWN = RecordingWithdrawn.__name__.encode()


class MeasuredLayers:
    """Which jobs one system has done at a precision.

    Holds the ids of all results of each layer; for TF32 also where the log has those in float32.
    What was imported counts as done, until its recording is withdrawn.
    """

    def __init__(self, log: EventLog, system_id: str, precision: Precision) -> None:
        self._log = log
        self._system_id = system_id
        self._precision = precision
        self._offsets: dict[Partition, int] = defaultdict(int)  # a topic may get more partitions
        self._results: dict[str, tuple[str, ...]] = {}
        self._in_fp32: dict[str, tuple[Partition, int, str]] = {}
        """Where the result is, and the recording that it came in."""
        self._imported: dict[str, str] = {}
        """The recordings that results came in, by the ids of the results."""
        self._withdrawn: set[str] = set()

    def catch_up(self) -> None:
        """Reads the results that came since the last call, from any runner of the system.

        Raises `BenanzaError` if the log can't be reached.
        """
        for partition, end in self._log.end_offsets(RESULTS).items():
            while (offset := self._offsets[partition]) < end:
                records = self._log.read(partition, offset, READ_AT_ONCE)
                for record in records:
                    self._take(record, partition)
                self._offsets[partition] = records[-1].offset + 1 if records else end

    def add(self, result: LayerMeasured) -> None:
        """Takes in a result that is measured now, and in the log with the next commit."""
        # The same job has a result of the same id wherever it is measured on such a system.
        self._withdrawn.discard(result.event_id)
        self._imported.pop(result.event_id, None)
        if recording := recording_of(result):
            self._imported[result.event_id] = recording
        known = self._results.get(result.fingerprint, ())
        if result.event_id not in known:
            self._results[result.fingerprint] = (*known, result.event_id)

    def results_of(self, fingerprint: str) -> tuple[str, ...]:
        """The ids of the layer's results here, in the order in which they were found; those that
        were withdrawn are among them, so that a job that asks again is a new one.
        """
        return self._results.get(fingerprint, ())

    def in_fp32(self, fingerprint: str) -> LayerMeasured | None:
        """The layer's last result in float32, for TF32; None if there is none."""
        if fingerprint not in self._in_fp32:
            return None
        partition, offset, _ = self._in_fp32[fingerprint]
        (event,) = (decode(record.value) for record in self._log.read(partition, offset, 1))
        assert isinstance(event, LayerMeasured), "results stay where they are in the log"
        return event

    def has_done(self, job: BenchmarkRequested) -> bool:
        """Whether the layer has a result here that the job doesn't know of."""
        standing = set(self.results_of(job.fingerprint)) - self._withdrawn
        return not standing <= set(job.after)

    def _take(self, record: Record, partition: Partition) -> None:
        # Most results of a large installation are of other systems, and decoding takes longest.
        if not any(word in record.value for word in (self._system_id.encode(), _WITHDRAWN)):
            return
        try:
            event = decode(record.value)
        except DecodeError:
            return  # The analyzer sends it to the dead letters.
        if isinstance(event, RecordingWithdrawn):
            self._withdraw(event)
        if not isinstance(event, LayerMeasured) or event.system.system_id != self._system_id:
            return
        if is_submitted(event):
            return  # It is no result of a job.
        if event.precision == self._precision:
            self.add(event)
        elif (event.precision, self._precision) == ("fp32", "tf32"):
            self._in_fp32[event.fingerprint] = partition, record.offset, recording_of(event)

    def _withdraw(self, event: RecordingWithdrawn) -> None:
        self._withdrawn |= {
            result_id for result_id, of in self._imported.items() if of == event.digest
        }
        self._in_fp32 = {
            fingerprint: place
            for fingerprint, place in self._in_fp32.items()
            if place[-1] != event.digest
        }


def asked_again(job: BenchmarkRequested, results: Sequence[str]) -> BenchmarkRequested:
    """The job that asks for a layer again after these results of it."""
    identity = event_id("BenchmarkRequested", job.fingerprint, *results)
    return msgspec.structs.replace(job, event_id=identity, after=tuple(results))
