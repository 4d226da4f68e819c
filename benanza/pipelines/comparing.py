"""What a pipeline came to here beside what was recorded, and the pitfalls that this shows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

import numpy as np

from benanza.pipelines.failing import FailedSampleError
from benanza.pipelines.images.preparing import digests
from benanza.pipelines.images.steps import Step
from benanza.pipelines.images.variations import variations
from benanza.pipelines.pitfalls import (
    Pitfall,
    otherwise,
    otherwise_labelled,
    text,
)
from benanza.pipelines.results import PipelineAccuracy, PipelineDifference
from benanza.pipelines.scoring import interval
from benanza.pipelines.specification import (
    PipelineData,
    PipelineFramework,
    PipelineOutput,
    PipelineSpecification,
    Recorded,
    RecordedStep,
)
from benanza_runner.arrays import Array

FAILED_DIGEST = "failed"


def batch_dependent(
    together: Sequence[Array], alone: Sequence[Array], tolerance: float
) -> Pitfall | None:
    """Whether samples have other scores in a batch than alone: by more than the tolerance of the
    precision, as ‖difference‖ / ‖alone‖.
    """
    apart = [_apart(each, one) for each, one in zip(together, alone, strict=True)]
    others = sum(not each <= tolerance for each in apart)
    if not others:
        return None
    flipped = sum(
        int(np.argmax(each)) != int(np.argmax(one))
        for each, one in zip(together, alone, strict=True)
    )
    return Pitfall(
        name="batch-dependent results",
        shown_by=f"{others} of {len(apart)} samples have other scores in a batch than alone, by up "
        f"to {max(apart):.2g} of them; {flipped} another class",
    )


def _apart(scores: Array, alone: Array) -> float:
    if np.array_equal(scores, alone, equal_nan=True):
        return 0.0
    difference = scores.astype(np.float64) - alone.astype(np.float64)
    return float(np.linalg.norm(difference) / (np.linalg.norm(alone) or 1.0))


def accuracies(here: Recorded, before: Recorded | None) -> Iterator[PipelineAccuracy]:
    """Each metric here beside the recorded one."""
    then = {each.name: each for each in before.metrics} if before else {}
    for metric in here.metrics:
        found = interval(metric.right, metric.samples)
        known = then.get(metric.name)
        of_known = interval(known.right, known.samples) if known else None
        yield PipelineAccuracy(
            metric=metric.name,
            right=metric.right,
            samples=metric.samples,
            share=metric.right / metric.samples,
            interval=found,
            recorded_share=known.right / known.samples if known else None,
            recorded_interval=of_known,
            differs=of_known is not None
            and (found.greatest < of_known.least or of_known.greatest < found.least),
        )


def changed(
    specified: PipelineSpecification, here: Recorded, before: Recorded
) -> Iterator[PipelineDifference]:
    """What is otherwise specified than it was recorded; where that are not the steps, from which
    on they make something else `here` of the same witnesses.
    """
    yield from lines(
        ("model", {"sha256": specified.model.sha256}, {"sha256": before.model_sha256}),
        ("model.dims", specified.model.dims, before.model_dims),
        ("data", _but_source(specified.data), _but_source(before.data)),
        ("framework", fields(specified.framework), fields(before.framework)),
        ("framework.options", specified.framework.options, before.framework.options),
    )
    steps, then = ([*map(text, each)] for each in (specified.steps, _done(before.steps)))
    matcher = SequenceMatcher(None, steps, then, autojunk=False)
    for _, start, end, start_then, end_then in matcher.get_opcodes():
        for number, (now, was) in enumerate(
            zip_longest(steps[start:end], then[start_then:end_then], fillvalue=""), start + 1
        ):
            if now != was:
                yield PipelineDifference(what=f"steps[{number}]", specified=now, found=was)
    if steps == then:
        yield from _first_other_digest(here, before)
    yield from lines(("output", _labels(specified.output), _labels(before.output)))


def lines(
    *parts: tuple[str, Mapping[str, object], Mapping[str, object]],
) -> Iterator[PipelineDifference]:
    """A line for each key of these parts, by name, that differs in the second from the first."""
    for part, then, now in parts:
        for key in dict.fromkeys((*then, *now)):
            before, after = str(then.get(key, "")), str(now.get(key, ""))
            if before != after:
                yield PipelineDifference(what=f"{part}.{key}", specified=before, found=after)


def fields(framework: PipelineFramework) -> dict[str, object]:
    """What is set of a framework, but for its options."""
    return {name: getattr(framework, name) for name in framework.__struct_fields__[:-1]}


def _but_source(data: PipelineData) -> dict[str, object]:
    """What is set of a data set, but for where it lies."""
    return {name: getattr(data, name) for name in data.__struct_fields__ if name != "source"}


def _labels(output: PipelineOutput) -> dict[str, object]:
    listed = ", ".join(output.labels)
    return {"offset": output.offset, "labels": f"{len(output.labels)}: {listed}"}


def _done(steps: Sequence[RecordedStep]) -> list[Step]:
    return [step.did for step in steps]


def _first_other_digest(here: Recorded, before: Recorded) -> Iterator[PipelineDifference]:
    if (here.data.sha256, here.witnesses) != (before.data.sha256, before.witnesses):
        return
    for number, (now, was) in enumerate(zip(here.steps, before.steps, strict=True), 1):
        if now.digests != was.digests:
            yield PipelineDifference(
                what=f"what steps[{number}] makes",
                specified=", ".join(now.digests),
                found=", ".join(was.digests),
            )
            return


def pitfalls(here: Recorded, before: Recorded, contents: Sequence[bytes]) -> Iterator[Pitfall]:
    """The names of what `changed` finds. `contents` are the files of the witnesses."""
    steps, then = _done(here.steps), _done(before.steps)
    yield from otherwise(steps, then)
    yield from otherwise_labelled(here.output, before.output)
    if steps == then and next(_first_other_digest(here, before), None):
        yield from _unspecified(steps, before.steps[-1].digests, contents)


def _unspecified(
    steps: Sequence[Step], recorded: Sequence[str], contents: Sequence[bytes]
) -> Iterator[Pitfall]:
    """The pitfall with which these steps make what was recorded."""
    for name, varied in variations(steps):
        if last_digests(contents, varied) == tuple(recorded):
            other = next(step for step, old in zip(varied, steps, strict=False) if step != old)
            shown_by = f"what was recorded comes about with {text(other)}"
            yield Pitfall(name=name, shown_by=shown_by)
            return


def last_digests(contents: Iterable[bytes], steps: Sequence[Step]) -> tuple[str, ...]:
    """The digests of what the steps make of files."""
    return tuple(digests_of(content, steps)[-1] for content in contents)


def digests_of(content: bytes, steps: Sequence[Step]) -> tuple[str, ...]:
    """The digest behind each step, or that it failed."""
    try:
        return digests(content, steps)
    except FailedSampleError:
        return (FAILED_DIGEST,) * len(steps)
