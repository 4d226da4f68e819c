"""Looks into a few requests, one level of the stack at a time.

Each level is looked at in a run of its own, so that what a profiler costs is in no figure of the
levels above it, and is seen. XSP (Li et al., IPDPS 2020) calls this levelled experiments.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Answered, Pipeline
from benanza.profiling.framework import Configuration, Framework, ObservedRun
from benanza.profiling.whole_model import WholeModel
from benanza_backbone.errors import BenanzaError
from benanza_runner.reasons import short_reason
from benanza_schemas.layer import Precision

Level = Literal["layers", "kernels"]
"""What the framework's profiler tells below its own call; kernels run on a GPU alone."""

REQUESTS = 10
FIRST_REQUESTS = 2
"""These don't count: caches and threads are those of another session before."""

MOST_NODES = 100_000
"""Profilers write about a kilobyte for each node of each execution, and it is read as a whole."""


class LookedAt(NamedTuple):
    """Requests that were looked into at a level: the steps of each, and what ran in it.
    `unobserved_us` is what the framework's call took without anybody looking, before and after
    that, in the median, and `looking_us` by how much longer it took so, in quartiles. `failure`
    says why it could not be looked at.
    """

    level: Level
    answered: Sequence[Answered] = ()
    runs: Sequence[ObservedRun] = ()
    unobserved_us: float = 0.0
    looking_us: Sequence[float] = ()
    failure: str = ""


def look(
    framework: Framework,
    configuration: Configuration,
    made: Callable[[], WholeModel],
    precision: Precision,
    pipeline: Pipeline,
    batch: int,
) -> Iterator[LookedAt]:
    """Requests of so many of the first sample, in a configuration of the framework, at each
    level. `made` makes the model of this batch size, which the pipeline has loaded.
    """
    levels = get_args(Level) if framework.system().accelerator else get_args(Level)[:1]
    model: WholeModel | None = None
    for level in levels:
        try:
            model = model or made()
            yield _looked(framework, configuration, model, precision, pipeline, batch, level)
        except Exception as error:  # noqa: BLE001  # the evaluation stands, whatever a profiler does
            yield LookedAt(level, failure=short_reason(str(error) or repr(error)))


def _looked(
    framework: Framework,
    configuration: Configuration,
    model: WholeModel,
    precision: Precision,
    pipeline: Pipeline,
    batch: int,
    level: Level,
) -> LookedAt:
    nodes = len(model.proto.graph.node) * (FIRST_REQUESTS + REQUESTS)
    if nodes > MOST_NODES:
        raise BenanzaError(f"its requests would run {nodes:,} nodes, more than {MOST_NODES:,}")
    indices = [0] * batch
    pipeline.load([0])
    # Not in turns with those that are looked into: a GPU's profiler sees all of a process.
    unobserved = _answers(pipeline, indices, REQUESTS // 2)
    with framework.observe(model, precision, configuration, gpu=level == "kernels") as observed:
        loaded = LoadedModel(batch, observed.run, model.inputs)
        sizes = [loaded] if batch == 1 else [pipeline.model.at(1), loaded]
        observing = Pipeline(BatchedModel(sizes, framework.memory_like), pipeline.source)
        observing.load([0])
        answered = _answers(observing, indices, REQUESTS)
        runs = observed.runs()[FIRST_REQUESTS:]
    if len(runs) != len(answered):
        raise BenanzaError(f"of {len(answered)} requests, the profiler saw {len(runs)}")
    unobserved += _answers(pipeline, indices, REQUESTS // 2)
    unobserved_us = float(np.median(_calls_us(unobserved)))
    quartiles_us = np.percentile(_calls_us(answered), (25, 50, 75)) - unobserved_us
    return LookedAt(level, answered, runs, unobserved_us, quartiles_us.tolist())


def _answers(pipeline: Pipeline, indices: Sequence[int], count: int) -> list[Answered]:
    found = [pipeline.answer(indices)._replace(results=[]) for _ in range(FIRST_REQUESTS + count)]
    return found[FIRST_REQUESTS:]


def _calls_us(answered: Sequence[Answered]) -> list[float]:
    return [(each.ran_ns - each.prepared_ns) / 1_000 for each in answered]
