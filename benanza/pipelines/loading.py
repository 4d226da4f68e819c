"""The model of a specification, loaded, and run under the load of its scenario."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.command import Tell, evaluate
from benanza.evaluating.request import EvaluationRequest, Seeds
from benanza.evaluating.results import EvaluatedModel
from benanza.pipelines.failing import needed
from benanza.pipelines.source import SpecifiedSamples
from benanza.pipelines.specification import (
    PipelineFramework,
    PipelineSpecification,
    RecordedLoad,
)
from benanza.profiling.framework import Configuration, Framework
from benanza.profiling.whole_model import whole_model
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import Limits


class LoadedPipeline(NamedTuple):
    """The model, loaded, and the names of its outputs."""

    model: BatchedModel
    outputs: tuple[str, ...]


def loaded_at(
    specified: PipelineFramework,
    framework: Framework,
    content: bytes,
    dims: Mapping[str, int],
    limits: Limits,
) -> LoadedPipeline:
    """The model in a file, of which `content` has all bytes, at batch size 1 and the specified one.

    Raises `BenanzaError` if the framework hasn't the configuration, or can't run the model so.
    """
    configuration = configured(specified, framework)
    sizes = sorted({1, specified.batch})
    models = [whole_model(content, size, dims, limits) for size in sizes]
    batched = BatchedModel(
        [
            LoadedModel(
                size, framework.load(model, specified.precision, configuration), model.inputs
            )
            for size, model in zip(sizes, models, strict=True)
        ],
        framework.memory_like,
    )
    return LoadedPipeline(batched, tuple(output.name for output in models[0].proto.graph.output))


def configured(specified: PipelineFramework, framework: Framework) -> Configuration:
    """The framework's configuration of that name. Raises `BenanzaError` if it has none."""
    known = {each.name: each for each in framework.configurations()}
    if specified.configuration not in known:
        raise BenanzaError(
            f"{specified.name} has no configuration {specified.configuration!r} here; it has "
            f"{', '.join(known)}"
        )
    return known[specified.configuration]


def check_scenario(specified: PipelineSpecification, framework: Framework) -> None:
    """Raises `BenanzaError` if a scenario is specified, and can't be run with this configuration or
    without LoadGen.
    """
    if specified.scenario is None:
        return
    configured(specified.framework, framework)
    needed("mlperf_loadgen", "LoadGen")


def under_load(
    specified: PipelineSpecification,
    source: str,
    samples: SpecifiedSamples,
    settings: Settings,
    tell: Tell | None,
) -> EvaluatedModel | None:
    """The samples under the specified scenario, which `check_scenario` passed, `None` without one;
    the model's file is at `source`. A scenario that can't be run has its `failure`.
    """
    scenario = specified.scenario
    if scenario is None:
        return None
    fields = msgspec.structs.asdict(scenario)
    request = EvaluationRequest(
        model=source,
        framework=specified.framework.name,
        configuration=specified.framework.configuration,
        precision=specified.framework.precision,
        dims=specified.model.dims,
        scenario=fields.pop("name"),
        seeds=Seeds(**msgspec.structs.asdict(fields.pop("seeds"))),
        **fields,
    )
    return evaluate(request, settings, samples, tell)


def recorded_load(evaluated: EvaluatedModel | None) -> RecordedLoad | None:
    """What is recorded of a run under load."""
    measured = evaluated.evaluation.measured if evaluated else None
    if measured is None:
        return None
    latency = measured.latency
    return RecordedLoad(
        valid=measured.validity.valid,
        per_s=measured.per_s,
        p50_us=latency.p50_us if latency else None,
        p99_us=latency.p99_us if latency else None,
    )
