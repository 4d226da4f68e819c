"""`benanza evaluate --spec`: runs a pipeline as it is specified, and says what differs."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np

from benanza.evaluating.batches import BatchedModel
from benanza.evaluating.command import Tell
from benanza.evaluating.pipeline import run_batch
from benanza.pipelines.comparing import (
    accuracies,
    batch_dependent,
    changed,
    digests_of,
    pitfalls,
)
from benanza.pipelines.data.data_set import DataSet
from benanza.pipelines.found import (
    data_set,
    differences,
    framework_version,
    hardware,
    model_source,
    software,
)
from benanza.pipelines.loading import (
    check_scenario,
    configured,
    loaded_at,
    recorded_load,
    under_load,
)
from benanza.pipelines.pitfalls import Pitfall, Shapes, in_themselves
from benanza.pipelines.reading import read_pipeline
from benanza.pipelines.results import (
    FailedSample,
    PipelineSpeed,
    RepeatedPipeline,
)
from benanza.pipelines.scoring import NamedScores, predictions_sha256, right
from benanza.pipelines.source import SpecifiedSamples
from benanza.pipelines.specification import (
    PipelineSpecification,
    Recorded,
    RecordedLoad,
    RecordedMetric,
    RecordedSpeed,
    RecordedStep,
    top,
)
from benanza.profiling.framework import Framework, framework_named
from benanza.publishing.fetched_once import FetchedOnce
from benanza_backbone.clock import now
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.element_types import PRECISIONS

WITNESSES = 4
"""Of so many samples the steps' digests are recorded."""


class PipelineRun(NamedTuple):
    """What came of a pipeline, the specification of what ran here with its record, and the names
    that each sample was given, `None` for one that failed.
    """

    result: RepeatedPipeline
    here: PipelineSpecification
    named: Sequence[NamedScores | None]


class _Ran(NamedTuple):
    """The results of all samples by index, and the times of each sample and each batch."""

    results: Mapping[int, NamedScores]
    preparing_us: Sequence[float]
    model_us: Sequence[float]
    dependent: Pitfall | None
    scores: int


def repeat(path: Path, settings: Settings, tell: Tell | None = None) -> PipelineRun:
    """Runs the pipeline that a file specifies. `tell` takes the trace of its run under load.

    Raises `BenanzaError` if the file is wrong, or if the model, the framework or the data set can't
    be had. What is otherwise here than specified is part of the result.
    """
    specified = read_pipeline(path)
    folder, limits = path.resolve().parent, limits_of(settings)
    framework = framework_named(specified.framework.name)
    check_scenario(specified, framework)
    fetch = FetchedOnce()
    source = model_source(specified.model.source, folder)
    model_sha256 = fetch(source, limits).sha256
    data = data_set(specified.data, folder)
    content, dims = fetch.whole(source, limits), specified.model.dims
    model, outputs = loaded_at(specified.framework, framework, content, dims, limits)
    samples = SpecifiedSamples(specified, data, model.at(1).inputs, outputs)
    ran = _ran(samples, model, specified)
    here = _here(specified, framework, model_sha256, data)
    loaded_with = under_load(specified, source, samples, settings, tell)
    recorded = _recorded(here, samples, ran, recorded_load(loaded_with))
    here = msgspec.structs.replace(here, recorded=recorded)
    result = _result(path, specified, here, samples, ran, data.classes)
    result = msgspec.structs.replace(
        result,
        under_load=loaded_with,
        recorded_load=specified.recorded and specified.recorded.under_load,
    )
    return PipelineRun(result, here, samples.found(ran.results))


def _ran(samples: SpecifiedSamples, model: BatchedModel, specified: PipelineSpecification) -> _Ran:
    batch = specified.framework.batch
    results: dict[int, NamedScores] = {}
    preparing, running = [], []
    dependent, scores = None, 0
    for start in range(0, samples.count, batch):
        indices = range(start, min(start + batch, samples.count))
        inputs = []
        for file in samples.load(indices):
            started = time.perf_counter_ns()
            inputs.append(samples.preprocess(file))
            preparing.append((time.perf_counter_ns() - started) / 1_000)
        started = time.perf_counter_ns()
        outputs = run_batch(model, inputs)
        running.append((time.perf_counter_ns() - started) / 1_000)
        results |= zip(indices, map(samples.postprocess, outputs), strict=True)
        if start == 0:
            together = [samples.scores_in(each) for each in outputs]
            alone = [samples.scores_in(run_batch(model, [each])[0]) for each in inputs]
            scores = int(np.size(together[0]))
            tolerance = PRECISIONS[specified.framework.precision].tolerance
            dependent = batch_dependent(together, alone, tolerance)
    return _Ran(results, preparing, running, dependent, scores)


def _here(
    specified: PipelineSpecification, framework: Framework, model_sha256: str, data: DataSet
) -> PipelineSpecification:
    """The specification with what is here in place of what was specified."""
    asked, system = specified.framework, framework.system()
    return msgspec.structs.replace(
        specified,
        model=msgspec.structs.replace(specified.model, sha256=model_sha256),
        framework=msgspec.structs.replace(
            asked,
            version=framework_version(framework, asked.name),
            options=dict(configured(asked, framework).options),
        ),
        data=msgspec.structs.replace(specified.data, sha256=data.sha256),
        software=software(specified.steps, system),
        hardware=hardware(system),
        recorded=None,
    )


def _recorded(
    here: PipelineSpecification,
    samples: SpecifiedSamples,
    ran: _Ran,
    load: RecordedLoad | None,
) -> Recorded:
    """What came of the pipeline here."""
    found = samples.found(ran.results)
    labels = [sample.label for sample in samples.samples]
    witnesses = _witnesses(samples)
    made = [digests_of(file.content, here.steps) for file in samples.load(witnesses)]
    return Recorded(
        at=f"{now():%Y-%m-%dT%H:%M:%SZ}",
        model_sha256=here.model.sha256,
        model_dims=here.model.dims,
        data=here.data,
        framework=here.framework,
        output=here.output,
        witnesses=tuple(_name(samples, index) for index in witnesses),
        predictions=predictions_sha256(found),
        failed=len(samples.failed),
        speed=RecordedSpeed(preparing_us=median(ran.preparing_us), model_us=median(ran.model_us)),
        metrics=tuple(
            RecordedMetric(
                name=metric, right=right(found, labels, top(metric)), samples=samples.count
            )
            for metric in here.metrics
        ),
        steps=tuple(
            RecordedStep(did=step, digests=tuple(each[number] for each in made))
            for number, step in enumerate(here.steps)
        ),
        under_load=load,
    )


def _witnesses(samples: SpecifiedSamples) -> list[int]:
    """Samples at equal distances over all of them."""
    return sorted({samples.count * number // WITNESSES for number in range(WITNESSES)})


def _name(samples: SpecifiedSamples, index: int) -> str:
    sample = samples.samples[index]
    # The name of a file may have bytes that no text has.
    return os.fsencode(f"{sample.label}/{sample.name}").decode("utf-8", "backslashreplace")


def _result(
    path: Path,
    specified: PipelineSpecification,
    here: PipelineSpecification,
    samples: SpecifiedSamples,
    ran: _Ran,
    classes: Sequence[str],
) -> RepeatedPipeline:
    before, found = specified.recorded, here.recorded
    assert found is not None, "it was recorded above"
    shapes = Shapes(samples.made, samples.taken, ran.scores)
    shown = [*in_themselves(specified.steps, specified.output, classes, shapes)]
    shown += [ran.dependent] if ran.dependent else []
    if before is not None:
        witnesses = [file.content for file in samples.load(_witnesses(samples))]
        shown = [*pitfalls(found, before, witnesses), *shown]
    return RepeatedPipeline(
        file=str(path),
        model=specified.model.source,
        data=specified.data.source,
        batch=specified.framework.batch,
        differences=tuple(differences(specified, here)),
        changed=tuple(changed(specified, found, before)) if before else (),
        pitfalls=tuple(dict.fromkeys(shown)),
        accuracies=tuple(accuracies(found, before)),
        same_predictions=found.predictions == before.predictions if before else None,
        speed=PipelineSpeed(
            preparing_us=found.speed.preparing_us,
            model_us=found.speed.model_us,
            recorded_preparing_us=before.speed.preparing_us if before else None,
            recorded_model_us=before.speed.model_us if before else None,
        ),
        failed=tuple(
            FailedSample(name=_name(samples, index), reason=reason)
            for index, reason in sorted(samples.failed.items())
        ),
    )
