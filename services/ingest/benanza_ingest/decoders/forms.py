"""The zoo's decoders: of each a step and a prompt, with four blocks, made when they are asked for.

They have the width, heads and vocabulary of the published model, and are in float32 without
weights. Those with experts also come with products and experts in int4, as `-int4`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from onnx import TensorProto

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS, OTHERS
from benanza_ingest.decoders.decoder import Decoder

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


@cache
def decoder_names() -> tuple[str, ...]:
    """The sorted names for `zoo:NAME`: `decoder:llama-3.1-8b-step`, …"""
    return tuple(sorted(_asked()))


def decoder_model(name: str) -> bytes:
    """The file of one of these names. Its open dimensions are `batch`; `past` of a step, `sequence`
    of a prefill; and `encoder` behind an encoder that takes any length.

    Raises `KeyError` for another name.
    """
    decoder, form = _asked()[name]
    model = build(decoder)
    del model.graph.value_info[:]  # they follow from the inputs
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            size = _SIZES[form].get(dim.dim_param)
            if isinstance(size, str):
                dim.dim_param = size
            elif size is not None:
                dim.dim_value = size
    return bytes(model.SerializeToString(deterministic=True))


def sizes_for_tables(name: str) -> dict[str, int]:
    """Sizes of a name's open dimensions but the batch, to say what is in it: one token behind 1,023
    others, or a prompt of 1,024.
    """
    decoder, form = _asked()[name]
    sizes = {"past": 1023} if form == STEP else {"sequence": 1024}
    open_encoder = decoder.crossed is not None and isinstance(decoder.crossed.length, str)
    return sizes | ({"encoder": 1024} if open_encoder else {})


@cache
def _asked() -> Mapping[str, tuple[Decoder, str]]:
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
                found[f"{PREFIX}{name}{ending}-{form}"] = asked, form
    return found
