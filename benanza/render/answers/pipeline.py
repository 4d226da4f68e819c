"""A pipeline that was repeated, and what differs, for people."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from benanza.pipelines.results import (
    PipelineAccuracy,
    PipelineDifference,
    PipelineSpeed,
    RepeatedPipeline,
)
from benanza.pipelines.scoring import Interval
from benanza.pipelines.specification import RecordedLoad
from benanza.render.load.evaluation import print_evaluation
from benanza.render.table import printable
from benanza.render.units import plural, time_unit

FAILED_SHOWN = 5


def print_pipeline(console: Console, repeated: RepeatedPipeline) -> None:
    """Prints accuracy and speed, the pitfalls by name, and a line for whatever differs."""
    for line in _lines(repeated):
        console.print(Text(printable(line)))
    if repeated.under_load is not None:
        print_evaluation(console, repeated.under_load)
    if repeated.recorded_load is not None:
        console.print(Text(_recorded_load(repeated.recorded_load)))


def _lines(repeated: RepeatedPipeline) -> Iterator[str]:
    samples = max(each.samples for each in repeated.accuracies)
    yield (
        f"{repeated.model} on {plural(samples, 'sample')} of {repeated.data}, batch "
        f"{repeated.batch}: {'as specified' if repeated.agrees else 'it differs'}"
    )
    yield from map(_accuracy, repeated.accuracies)
    yield from _speed(repeated.speed, repeated.batch)
    if repeated.same_predictions is not None:
        same = "the same as recorded" if repeated.same_predictions else "others than recorded"
        yield f"top-1 labels of all samples: {same}"
    for pitfall in repeated.pitfalls:
        yield f"pitfall: {pitfall.name}: {pitfall.shown_by}"
    yield from _differences("specified and recorded", repeated.changed)
    yield from _differences("specified and here", repeated.differences)
    yield from _failed(repeated)


def _accuracy(accuracy: PipelineAccuracy) -> str:
    here = _share(accuracy.share, accuracy.interval)
    line = f"{accuracy.metric}: {here}, {accuracy.right:,} of {accuracy.samples:,} right"
    if accuracy.recorded_share is None or accuracy.recorded_interval is None:
        return line
    differs = "differs from the" if accuracy.differs else "within the interval of the"
    recorded = _share(accuracy.recorded_share, accuracy.recorded_interval)
    return f"{line}; {differs} recorded {recorded}"


def _share(share: float, interval: Interval) -> str:
    return f"{share:.1%} ({interval.least:.1%} to {interval.greatest:.1%})"


def _speed(speed: PipelineSpeed, batch: int) -> Iterator[str]:
    for what, us, recorded_us in (
        ("pre-processing of a sample", speed.preparing_us, speed.recorded_preparing_us),
        (f"the model, a batch of {batch}", speed.model_us, speed.recorded_model_us),
    ):
        unit = time_unit([us, recorded_us])
        recorded = f", recorded {unit.format(recorded_us)}" if recorded_us else ""
        yield f"{what}: {unit.format(us)} {unit.name}{recorded}"


def _differences(between: str, differences: Sequence[PipelineDifference]) -> Iterator[str]:
    if differences:
        yield f"what differs between {between}:"
    for each in differences:
        yield f"  {each.what}: {each.specified or 'nothing'} | {each.found or 'nothing'}"


def _recorded_load(load: RecordedLoad) -> str:
    parts = [f"{load.per_s:,.1f} samples/s"]
    if load.p50_us is not None and load.p99_us is not None:
        unit = time_unit([load.p50_us, load.p99_us])
        parts += [f"p50 {unit.format(load.p50_us)}", f"p99 {unit.format(load.p99_us)} {unit.name}"]
    return f"recorded under load: {', '.join(parts)}{'' if load.valid else ', not valid'}"


def _failed(repeated: RepeatedPipeline) -> Iterator[str]:
    failed = repeated.failed
    if failed:
        yield f"{plural(len(failed), 'sample')} failed, and aren't right:"
    yield from (f"  {each.name}: {each.reason}" for each in failed[:FAILED_SHOWN])
    if len(failed) > FAILED_SHOWN:
        yield f"  and {len(failed) - FAILED_SHOWN:,} more"
