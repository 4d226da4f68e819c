"""Pitfalls: what is done otherwise than the model was made for, by the name that people know.

Two lists of steps are compared, or what a model takes and gives with what a specification says.
Source of the list: Li et al., "Challenges and Pitfalls of Machine Learning Evaluation and
Benchmarking", 2019.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from benanza.pipelines.images.steps import (
    Cast,
    CentreCrop,
    Decode,
    Layout,
    Normalise,
    Resize,
    Step,
    step_name,
)
from benanza.pipelines.specification import PipelineOutput
from benanza_backbone.document import Document

PitfallName = Literal[
    "swapped colour channels",
    "another decoder",
    "another interpolation",
    "crop for resize",
    "another size",
    "normalise before or after the cast",
    "another normalisation",
    "NHWC for NCHW",
    "truncated or shifted labels",
    "batch-dependent results",
]


class Pitfall(Document, frozen=True, kw_only=True):
    """A pitfall by its name, with what shows it."""

    name: PitfallName
    shown_by: str


def otherwise(specified: Sequence[Step], recorded: Sequence[Step]) -> Iterator[Pitfall]:
    """What these steps do otherwise than those that were recorded."""
    here, then = _decode(specified), _decode(recorded)
    if here.colours != then.colours:
        yield _pitfall("swapped colour channels", here.colours, then.colours)
    if (here.library, here.jpeg) != (then.library, then.jpeg):
        yield _pitfall(
            "another decoder", f"{here.library}, {here.jpeg}", f"{then.library}, {then.jpeg}"
        )
    if _sizes(specified) != _sizes(recorded):
        alike = _kinds(specified) == _kinds(recorded)
        name: PitfallName = "another size" if alike else "crop for resize"
        yield _pitfall(name, _sizes(specified), _sizes(recorded))
    elif _interpolations(specified) != _interpolations(recorded):
        yield _pitfall(
            "another interpolation", _interpolations(specified), _interpolations(recorded)
        )
    if _order(specified) != _order(recorded):
        yield _pitfall("normalise before or after the cast", _order(specified), _order(recorded))
    if _normalised(specified) != _normalised(recorded):
        yield _pitfall("another normalisation", _normalised(specified), _normalised(recorded))
    if _layouts(specified) != _layouts(recorded):
        yield _pitfall("NHWC for NCHW", _layouts(specified), _layouts(recorded))


def otherwise_labelled(specified: PipelineOutput, recorded: PipelineOutput) -> Iterator[Pitfall]:
    """What these labels do otherwise than those that were recorded."""
    if specified != recorded:
        yield _pitfall("truncated or shifted labels", _labels(specified), _labels(recorded))


class Shapes(NamedTuple):
    """What the steps make of a sample and what the model takes of one, without the axis of the
    batch; and how many scores the model gives.
    """

    made: tuple[int, ...]
    taken: tuple[int, ...]
    scores: int


def in_themselves(
    steps: Sequence[Step], output: PipelineOutput, classes: Sequence[str], shapes: Shapes
) -> Iterator[Pitfall]:
    """What a specification shows without a record, beside the data set's `classes` and the model's
    shapes.
    """
    if shapes.made != shapes.taken and sorted(shapes.made) == sorted(shapes.taken):
        shown_by = (
            f"the steps make {_value(shapes.made)}, and the model takes {_value(shapes.taken)}"
        )
        yield Pitfall(name="NHWC for NCHW", shown_by=shown_by)
    kind = "uint8"
    for number, step in enumerate(steps, 1):
        if isinstance(step, Cast):
            kind = step.to
        if isinstance(step, Normalise) and kind == "uint8":
            shown_by = f"step {number} normalises uint8, so fractions are lost"
            yield Pitfall(name="normalise before or after the cast", shown_by=shown_by)
    named = output.offset + len(output.labels)
    if named != shapes.scores:
        shown_by = (
            f"the model gives {shapes.scores} scores, and {_labels(output)} name up to {named}"
        )
        yield Pitfall(name="truncated or shifted labels", shown_by=shown_by)
    missing = [name for name in classes if name not in output.labels]
    if missing:
        shown_by = f"{len(missing)} classes of the data set have no label, such as {missing[0]}"
        yield Pitfall(name="truncated or shifted labels", shown_by=shown_by)


def text(step: Step) -> str:
    """A step on one line: its name, and what it sets."""
    fields = {
        name: getattr(step, name)
        for name in step.__struct_fields__
        if getattr(step, name) is not None
    }
    return " ".join((step_name(step), *(f"{name}={_value(v)}" for name, v in fields.items())))


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value)) if isinstance(value[0], int) else ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pitfall(name: PitfallName, specified: object, recorded: object) -> Pitfall:
    return Pitfall(name=name, shown_by=f"specified {specified}, recorded {recorded}")


def _decode(steps: Sequence[Step]) -> Decode:
    return next(step for step in steps if isinstance(step, Decode))


def _kinds(steps: Sequence[Step]) -> list[type]:
    return [type(step) for step in steps if isinstance(step, CentreCrop | Resize)]


def _sizes(steps: Sequence[Step]) -> str:
    found = []
    for step in steps:
        if isinstance(step, CentreCrop):
            found.append(f"crop to {_value(step.size)}")
        elif isinstance(step, Resize):
            size = _value(step.size) if step.size else f"{step.shorter} at the shorter side"
            found.append(f"resize to {size}")
    return ", ".join(found) or "no other size"


def _interpolations(steps: Sequence[Step]) -> str:
    return ", ".join(
        f"{step.library} {step.interpolation} {step.corners}"
        f"{' antialias' if step.antialias else ''}"
        for step in steps
        if isinstance(step, Resize)
    )


def _order(steps: Sequence[Step]) -> str:
    kinds = [step_name(step) for step in steps if isinstance(step, Cast | Normalise)]
    return ", ".join(kinds)


def _normalised(steps: Sequence[Step]) -> str:
    return ", ".join(text(step) for step in steps if isinstance(step, Normalise))


def _layouts(steps: Sequence[Step]) -> str:
    found = [f"{step.to} by {step.by}" for step in steps if isinstance(step, Layout)]
    return ", ".join(found) or "NHWC as decoded"


def _labels(output: PipelineOutput) -> str:
    return f"{len(output.labels)} labels from score {output.offset}"
