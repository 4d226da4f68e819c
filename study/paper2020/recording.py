"""The results of 2020 as the events that a runner would have published for a system of then.

A layer's variants are its benchmarks, one for each mode. A sample is a published mean, of which the
spread isn't known: where there is one sample, the spread is zero.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from math import inf
from typing import NamedTuple

from benanza_backbone.errors import BenanzaError
from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import (
    LayerMeasured,
    System,
    SystemMeasured,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.layer import Layer, Precision
from study.paper2020.calls import Calls, calls_of
from study.paper2020.results import PRECISIONS, ApiCall, PublishedTime, ResultsFile

LIBRARIES = {"cudnn": "cudnn-legacy", "cublas": "cublas"}
METHOD = "Google Benchmark, CUDA events around each call; 2020"
ENVIRONMENT = {"published": "rai-project/dlperf"}
NO_BENCHMARK = "none of the results is of this call with these sizes"

Times = Mapping[tuple[ApiCall, Precision], Sequence[PublishedTime]]
"""The benchmarks of each call at each precision."""


class Recorded2020(NamedTuple):
    """What came of the results for some layers and groups.

    `unmatched` counts those without a time, by reason; `idle` counts the calls with benchmarks that
    no layer makes, by the call's name.
    """

    events: tuple[LayerMeasured, ...]
    unmatched: Counter[str]
    idle: Counter[str]


def described(system: System, measured_at: datetime) -> SystemMeasured:
    """The event that introduces the system. The results hold no ceilings."""
    return SystemMeasured(
        event_id=event_id("SystemMeasured", system.system_id, METHOD),
        system=system,
        measured_at=measured_at,
        ceilings=(),
    )


def system_of(results: Sequence[ResultsFile], driver: str) -> System:
    """The system that all of these files are of; `driver` is nvidia-smi's version, which they lack.

    Raises `BenanzaError` if they are of several. The two versions of CUDA in them are swapped: what
    they call the runtime's is the newest that the driver supports, as nvidia-smi prints it, and
    what they call the driver's is that of cuBLAS.
    """
    versions = results[0].versions
    if any(file.versions != versions for file in results):
        raise BenanzaError("the results are of several systems; name a clone as it was published")
    major, _, minor = versions["cuda_driver_version"].partition(".")
    return identified(
        System(
            system_id="",
            runtime="cuda",
            accelerator=f"NVIDIA {versions['gpu_name']}",
            driver=driver,
            cuda=f"{major}.{int(minor) // 10}",
            cudnn=versions["cudnn_version"],
            cublas=versions["cublas_version"],
            cpu="",
            threads=1,
            libraries={},
            method=METHOD,
        )
    )


def recorded(
    layers: Mapping[str, Layer],
    sources: Sequence[Sequence[ResultsFile]],
    system: System,
    measured_at: datetime,
) -> Recorded2020:
    """The measurements of these layers and groups, by fingerprint, that the results hold.

    Times of several sources are not mixed: at each precision, each layer has those of the first
    source that has it. A layer without any has an event that says why; a group has none.
    """
    source_times = [_by_call(source) for source in sources]
    known = {key for times in source_times for key in times}
    precisions = sorted({precision for _, precision in known})
    called: set[ApiCall] = set()
    events: list[LayerMeasured] = []
    unmatched: Counter[str] = Counter()
    for fingerprint, layer in layers.items():
        event = partial(_event, fingerprint, system, measured_at)
        calls = calls_of(layer)
        variants = {} if isinstance(calls, str) else _first_variants(calls, source_times)
        if not isinstance(calls, str) and variants:
            called.update(calls)
            events += [
                event(precision, precision_variants)
                for precision, precision_variants in variants.items()
            ]
            continue
        reason = calls if isinstance(calls, str) else NO_BENCHMARK
        unmatched[reason] += 1
        if len(layer.operators) == 1:
            events += [event(precision, failure=reason) for precision in precisions]
    idle = Counter(name for name, _ in {call for call, _ in known} - called)
    return Recorded2020(tuple(events), unmatched, idle)


def _event(
    fingerprint: str,
    system: System,
    measured_at: datetime,
    precision: Precision,
    variants: tuple[Variant, ...] = (),
    failure: str = "",
) -> LayerMeasured:
    identity = fingerprint, system.system_id, precision, METHOD
    return LayerMeasured(
        event_id=event_id("LayerMeasured", *identity),
        fingerprint=fingerprint,
        system=system,
        precision=precision,
        measured_at=measured_at,
        variants=variants,
        environment=ENVIRONMENT,
        failure=failure,
    )


def _first_variants(
    calls: Calls, source_times: Sequence[Times]
) -> Mapping[Precision, tuple[Variant, ...]]:
    """The variants of a layer of these calls, of the first source that has them all."""
    return {
        precision: tuple(_variants([times[call, precision] for call in calls]))
        for times in reversed(source_times)
        for precision in PRECISIONS.values()
        if all((call, precision) in times for call in calls)
    }


def _by_call(source: Sequence[ResultsFile]) -> Times:
    """The benchmarks of a source, each once: files of several models repeat them."""
    times: defaultdict[tuple[ApiCall, Precision], dict[PublishedTime, None]] = defaultdict(dict)
    for results in source:
        for time in results.times:
            times[time.call, time.precision][time] = None
    return {call: tuple(distinct) for call, distinct in times.items()}


def _variants(calls: Sequence[Sequence[PublishedTime]]) -> Iterator[Variant]:
    """The variants of a layer of these calls: one for each mode of the first, with the fastest of
    each of the others.
    """
    rest = [min(times, key=_us) for times in calls[1:]]
    rest_us = sum(map(_us, rest))
    modes: defaultdict[str, list[PublishedTime]] = defaultdict(list)
    for time in calls[0]:
        modes[time.mode].append(time)
    for times in modes.values():
        library = LIBRARIES[times[0].library]
        algorithm = " + ".join(
            f"{published.call.name} {published.mode}".strip() for published in (times[0], *rest)
        )
        failures = [published.failure for published in (*times, *rest) if published.us is None]
        if failures:
            yield Variant(library=library, algorithm=algorithm, failure=failures[0])
            continue
        samples = [_us(published) + rest_us for published in times]
        statistics = summary(sorted(samples))
        yield Variant(
            library=library,
            algorithm=algorithm,
            samples_us=tuple(samples),
            minimum_us=statistics.minimum,
            median_us=statistics.median,
            iqr_us=statistics.iqr,
            workspace_bytes=times[0].workspace_bytes,
            chosen_by_heuristic=times[0].advised,
        )


def _us(time: PublishedTime) -> float:
    """The time in microseconds, infinite where the benchmark failed."""
    return inf if time.us is None else time.us
