"""The runner as a step over an event log: jobs to results, on one system at one precision."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from benanza_backbone.clock import Clock
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_backbone.service.step import Step
from benanza_backbone.telemetry import BENCHMARK_DURATION, JOBS
from benanza_runner.core import Runner, in_tf32
from benanza_runner.measured_layers import MeasuredLayers, asked_again
from benanza_runner.measuring.busy import BUSY, doubts_in
from benanza_runner.monitoring.job_metrics import observe
from benanza_runner.runtime import Runtime
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import runner_group
from benanza_schemas.events import BenchmarkRequested, LayerMeasured
from benanza_schemas.layer import Precision


def runner_step(
    log: EventLog,
    runtime: Runtime,
    precision: Precision,
    clock: Clock,
    device: AbstractContextManager[object] | None = None,
) -> Step:
    """The step that measures jobs on one system at one precision, from the first job on.

    `device`, if given, is entered for each benchmark, so that steps that share a device take turns.
    Raises `BenanzaError` if the log can't be reached.
    """
    return Benchmarks(log, runtime, precision, clock, device).step()


class Benchmarks:
    """Measures jobs on one system at one precision, each layer once.

    A layer that the system has measured before is not measured again, unless another job asks for
    it; in TF32 neither is one that was measured in float32 and does the same there. Raises
    `BenanzaError` if the log can't be reached.
    """

    def __init__(
        self,
        log: EventLog,
        runtime: Runtime,
        precision: Precision,
        clock: Clock,
        device: AbstractContextManager[object] | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._runner = Runner(runtime, [precision], clock)
        system_id = self._runner.system.system_id
        self._group = runner_group(system_id, precision)
        self._measured = MeasuredLayers(log, system_id, precision)
        self._device = device or nullcontext()
        self._doubtful: dict[str, BenchmarkRequested] = {}

    def step(self) -> Step:
        """The step that does jobs so."""
        return Step(
            self._log,
            self._group,
            BenchmarkRequested,
            self.handle,
            self._clock,
            ahead=self.expect,
            # What is wrong with a layer is a result: an error is the runtime's or the log's fault.
            stops_on=(BenanzaError,),
        )

    def wait(self, job: BenchmarkRequested) -> bool:
        """Whether the job is still to be done."""
        self._measured.catch_up()
        return not self._measured.has_done(job)

    def expect(self, records: Iterable[Record]) -> None:
        """Begins with those of these jobs that are still to be done, where several can be."""
        jobs = [job for job in map(_job, records) if job and self.wait(job)]
        self._runner.expect(job for job in jobs if not self._shared(job))

    def handle(self, job: BenchmarkRequested) -> list[LayerMeasured]:
        """The results of a job; none if it was done before."""
        if not self.wait(job):
            JOBS.labels("repeated").inc()
            return []
        results = self._shared(job)
        if not results:
            with self._device, BENCHMARK_DURATION.time():
                results = self._runner.handle(job)
            for result in results:
                observe(result)
        for result in results:
            self._measured.add(result)
            if was_busy(result):
                self._doubtful[job.fingerprint] = job
            else:
                self._doubtful.pop(job.fingerprint, None)
            timed = any(variant.samples_us for variant in result.variants)
            JOBS.labels("measured" if timed else "failed").inc()
        return results

    def _shared(self, job: BenchmarkRequested) -> list[LayerMeasured]:
        """The job's result that follows from one at another precision, unless it asks again."""
        known = None if job.after else self._measured.in_fp32(job.fingerprint)
        shared_result = in_tf32(job, known) if known else None
        return [shared_result] if shared_result else []

    def doubtful(self) -> list[BenchmarkRequested]:
        """Jobs that ask again for the layers whose last times are from a busy machine."""
        return [
            asked_again(job, self._measured.results_of(fingerprint))
            for fingerprint, job in self._doubtful.items()
        ]


def _job(record: Record) -> BenchmarkRequested | None:
    try:
        event = decode(record.value)
    except DecodeError:
        return None  # It becomes a dead letter.
    return event if isinstance(event, BenchmarkRequested) else None


def was_busy(result: LayerMeasured) -> bool:
    """Whether the machine was busy with something else when these times were taken."""
    return not BUSY.isdisjoint(doubts_in(result.environment))
