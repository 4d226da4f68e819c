"""Looks into a few requests, one level of the stack at a time.

Each level is looked at in a run of its own, so that what a profiler costs is in no figure of the
levels above it, and is seen. Source: XSP, https://doi.org/10.1109/IPDPS47924.2020.00042.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Answered, Pipeline
from benanza.profiling.framework import Framework, ObservedRun
from benanza.profiling.whole_model import WholeModel
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision

Level = Literal["layers", "kernels"]
"""What the framework's profiler tells below its own call; kernels run on a GPU alone."""

REQUESTS = 10


class LookedAt(NamedTuple):
    """Requests that were looked into at a level: the steps of each and its calls. `unobserved_us`
    is what the same request took without anybody looking, in the median, and `looking_us` by how
    much longer it took so: the quartiles of all pairs. `failure` says why it could not be looked
    at.
    """

    level: Level
    answered: Sequence[Answered] = ()
    runs: Sequence[ObservedRun] = ()
    unobserved_us: float = 0.0
    looking_us: Sequence[float] = ()
    failure: str = ""


def look(
    framework: Framework, model: WholeModel, precision: Precision, pipeline: Pipeline, batch: int
) -> Iterator[LookedAt]:
    """Requests of so many of the first sample, in the framework's first configuration, at each
    level. `model` is the one of this batch size, which the pipeline has loaded.
    """
    levels = get_args(Level) if framework.system().accelerator else get_args(Level)[:1]
    for level in levels:
        try:
            yield _looked(framework, model, precision, pipeline, batch, level)
        except BenanzaError as error:
            yield LookedAt(level, failure=str(error))


def _looked(
    framework: Framework,
    model: WholeModel,
    precision: Precision,
    pipeline: Pipeline,
    batch: int,
    level: Level,
) -> LookedAt:
    indices = [0] * batch
    pipeline.load([0])
    configuration = framework.configurations()[0]
    with framework.observe(model, precision, configuration, gpu=level == "kernels") as observed:
        loaded = LoadedModel(batch, observed.run, model.inputs)
        sizes = [loaded] if batch == 1 else [pipeline.model.at(1), loaded]
        observing = Pipeline(BatchedModel(sizes), pipeline.source)
        observing.load([0])
        # In turns, so that what else the machine does meanwhile is in both.
        pairs = [(_second(pipeline, indices), _second(observing, indices)) for _ in range(REQUESTS)]
        runs = observed.runs()[1::2]
    times_us = np.array([[_us(answered) for answered in pair] for pair in pairs])
    unobserved_us = float(np.median(times_us[:, 0]))
    looking_us = np.percentile(times_us[:, 1] - times_us[:, 0], (25, 50, 75)).tolist()
    answered = [observed_one for _, observed_one in pairs]
    return LookedAt(level, answered, runs, unobserved_us, looking_us)


def _second(pipeline: Pipeline, indices: Sequence[int]) -> Answered:
    """The second of two requests: caches and threads are those of the other pipeline before."""
    pipeline.answer(indices)
    return pipeline.answer(indices)._replace(results=[])


def _us(answered: Answered) -> float:
    return (answered.finished_ns - answered.started_ns) / 1_000
