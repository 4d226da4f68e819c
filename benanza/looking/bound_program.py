"""A model's bound as a program: the calls that it adds up, with the variant that runs each."""

import math
from collections.abc import Mapping, Sequence

import msgspec

from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.measurements import Best, fastest
from benanza_ingest.limits import Limits
from benanza_ingest.program import program
from benanza_schemas.events import LayerMeasured, ModelIngested, Variant
from benanza_schemas.program import Choice, Program


def program_of(
    model: ModelIngested,
    content: bytes,
    cover: Cover,
    measured: Mapping[str, Sequence[LayerMeasured]],
    limits: Limits,
) -> Program:
    """The model as its bound says. `content` are the bytes of its ONNX file.

    The bound must lack no layer. `measured` holds the measurements of each layer, by fingerprint,
    on the system and at the precision of the bound. Raises `ModelError` as `program` does.
    """
    calls = {call.positions: call for call in cover.calls if call.fingerprint}
    planned = program(
        content,
        list(calls),
        batch=model.batch,
        dims=model.dims,
        limits=limits,
        fingerprints={positions: call.fingerprint for positions, call in calls.items()},
        derivation=model.derivation(),
    )
    steps = []
    for step in planned.steps:
        if step.kind != "view" or len(step.positions) > 1:
            chosen = fastest(measured[step.fingerprint], cover.layouts[step.positions])
            assert chosen is not None, "every call that a bound adds up has a time"
            step = msgspec.structs.replace(step, choice=_choice(*chosen))
        steps.append(step)
    return Program(tuple(steps), planned.outputs)


def _choice(best: Best, variant: Variant) -> Choice:
    us, cold_us = best.interleaved_us, best.weights_cold_us
    if math.isinf(us):
        us = cold_us = best.median_us
    waits_us = 0.0 if math.isinf(cold_us) else max(0.0, cold_us - us)
    return Choice(variant.library, variant.algorithm, variant.layout, us, waits_us)
