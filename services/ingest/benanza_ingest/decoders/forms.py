"""The zoo's decoders: of each a step and a prompt, with four blocks, made when they are asked for.

They have the width, heads and vocabulary of the published model, and are in float32 without
weights. Those of `configurations` with experts also come with products and experts in int4, as
`-int4`. Mamba 2, whose step alone is written out, has no prompt.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from onnx import ModelProto, TensorProto

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS, OTHERS
from benanza_ingest.decoders.decoder import Decoder
from benanza_ingest.decoders.hybrids import DeltaHybrid, qwen3_next
from benanza_ingest.decoders.state_space import StateSpaceModel, mamba2

PREFIX = "decoder:"

BLOCKS = 4

STEP, PREFILL = "step", "prefill"

_SIZES: Mapping[str, Mapping[str, str | int]] = {
    STEP: {
        "batch_size": "batch",
        "sequence_length": 1,
        "past_sequence_length": "past",
        "total_sequence_length": "past + 1",
        "encoder_length": "encoder",
    },
    PREFILL: {
        "batch_size": "batch",
        "sequence_length": "sequence",
        "past_sequence_length": 0,
        "total_sequence_length": "sequence",
        "encoder_length": "encoder",
    },
}
"""What the dimensions of each form are called, or how long they are: a step has one new token."""

_FOR_TABLES: Mapping[str, Mapping[str, int]] = {STEP: {"past": 1023}, PREFILL: {"sequence": 1024}}


class _Asked(NamedTuple):
    """What makes a name's model, its form, and sizes of its open dimensions but the batch."""

    make: Callable[[], ModelProto]
    form: str
    sizes: Mapping[str, int]


@cache
def decoder_names() -> tuple[str, ...]:
    """The sorted names for `zoo:NAME`: `decoder:llama-3.1-8b-step`, …"""
    return tuple(sorted(_asked()))


def decoder_model(name: str) -> bytes:
    """The file of one of these names. Its open dimensions are `batch`; `past` of a step that keeps
    keys, `sequence` of a prefill; and `encoder` behind an encoder that takes any length.

    Raises `KeyError` for another name.
    """
    asked = _asked()[name]
    model = asked.make()
    del model.graph.value_info[:]  # they follow from the inputs
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            size = _SIZES[asked.form].get(dim.dim_param)
            if isinstance(size, str):
                dim.dim_param = size
            elif size is not None:
                dim.dim_value = size
    return bytes(model.SerializeToString(deterministic=True))


def sizes_for_tables(name: str) -> dict[str, int]:
    """Sizes of a name's open dimensions but the batch, to say what is in it: one token behind 1,023
    others, or a prompt of 1,024.
    """
    return dict(_asked()[name].sizes)


@cache
def _asked() -> Mapping[str, _Asked]:
    found = {}
    for decoder in (*DECODERS, *OTHERS):
        name = decoder.name.rsplit("-", 2)[0] if decoder in DECODERS else decoder.name
        # The last block of four attends to everything, where more of a model's have windows.
        full_every = min(decoder.full_every, BLOCKS)
        made = replace(decoder, name=name, layers=BLOCKS, full_every=full_every)
        made = replace(made, precision=TensorProto.FLOAT, zero_points=False)
        for bits, ending in ((32, ""), (4, "-int4")) if decoder.experts else ((32, ""),):
            for form in (STEP, PREFILL):
                asked = replace(made, bits=bits, prompt=form == PREFILL)
                sizes = {**_FOR_TABLES[form], **_encoder(decoder)}
                found[f"{PREFIX}{name}{ending}-{form}"] = _Asked(partial(build, asked), form, sizes)
    hybrid = partial(qwen3_next, DeltaHybrid(layers=BLOCKS))
    for form in (STEP, PREFILL):
        found[f"{PREFIX}qwen3-next-80b-a3b-{form}"] = _Asked(hybrid, form, _FOR_TABLES[form])
    state_space = partial(mamba2, StateSpaceModel(layers=BLOCKS))
    found[f"{PREFIX}mamba2-2.7b-{STEP}"] = _Asked(state_space, STEP, {})
    return found


def _encoder(decoder: Decoder) -> Mapping[str, int]:
    is_open = decoder.crossed is not None and isinstance(decoder.crossed.length, str)
    return {"encoder": 1024} if is_open else {}
