"""Steps with one pitfall more, which are tried where digests show what nobody wrote down."""

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from benanza.pipelines.images.steps import (
    RESIZES,
    Cast,
    CentreCrop,
    Decode,
    Layout,
    Normalise,
    Resize,
    Step,
    StepError,
    check_steps,
)
from benanza.pipelines.pitfalls import PitfallName

_SWAPPED = {"RGB": "BGR", "BGR": "RGB"}
_DECODERS = (*product(("pillow", "opencv", "simplejpeg"), ("exact",)), ("simplejpeg", "fast"))


def variations(steps: Sequence[Step]) -> Iterator[tuple[PitfallName, tuple[Step, ...]]]:
    """The steps with each pitfall that they can have, those alone that can run."""
    for name, varied in _all(steps):
        try:
            check_steps(varied)
        except StepError:
            continue
        if varied != tuple(steps):
            yield name, varied


def _all(steps: Sequence[Step]) -> Iterator[tuple[PitfallName, tuple[Step, ...]]]:
    for position, step in enumerate(steps):
        before, after = steps[:position], steps[position + 1 :]
        for name, varied in _of(step):
            yield name, (*before, *varied, *after)
        if isinstance(step, Normalise | Cast) and after and isinstance(after[0], Normalise | Cast):
            swapped = (*before, after[0], step, *after[1:])
            yield "normalise before or after the cast", swapped
        if isinstance(step, CentreCrop):
            yield (
                "crop for resize",
                (*(s for s in before if not isinstance(s, Resize)), step, *after),
            )


def _of(step: Step) -> Iterator[tuple[PitfallName, tuple[Step, ...]]]:
    """What may stand in the place of a step."""
    match step:
        case Decode():
            if step.colours in _SWAPPED:
                swapped = _SWAPPED[step.colours]
                yield "swapped colour channels", (_replaced(step, colours=swapped),)
            for library, jpeg in _DECODERS:
                yield "another decoder", (_replaced(step, library=library, jpeg=jpeg),)
        case Resize():
            for library, known in RESIZES.items():
                for interpolation, corners, antialias in sorted(known):
                    varied = _replaced(
                        step,
                        library=library,
                        interpolation=interpolation,
                        corners=corners,
                        antialias=antialias,
                    )
                    yield "another interpolation", (varied,)
        case Layout(to="NCHW"):
            other = "reshape" if step.by == "transpose" else "transpose"
            yield "NHWC for NCHW", (_replaced(step, by=other),)


def _replaced(step: Step, **changes: object) -> Step:
    return msgspec.structs.replace(step, **changes)
