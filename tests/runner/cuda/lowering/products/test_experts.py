"""Mixtures of experts of decoders are calls, and what no kernel does has a reason."""

from dataclasses import replace

import numpy as np
import pytest

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import Decoder
from benanza_ingest.extract import extract
from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.layer import Layer
from tests.runner.cuda.layers.experts import mixture, packed_mixture

STEP = {"batch_size": 3, "sequence_length": 1, "past_sequence_length": 9}
STEP |= {"total_sequence_length": 10}


@pytest.mark.parametrize(
    "decoder", [each for each in DECODERS if each.experts], ids=lambda each: each.name
)
def test_those_of_decoders_are_calls(decoder: Decoder) -> None:
    small = replace(decoder, layers=1, hidden=128, intermediate=192, vocabulary=64)
    found = [
        each.layer
        for each in extract(build(small).SerializeToString(), dims=STEP).layers
        if each.op in ("MoE", "QMoE")
    ]
    assert len(found) == 1
    assert found[0] is not None
    layer = retyped(found[0], "fp32")
    call, operands, fixed = lower(layer, random_inputs(layer, "fp16"))
    assert isinstance(call, MixtureOfExperts)
    assert (call.rows, call.experts, call.top_k) == (3, decoder.experts, decoder.top_k)
    assert (call.up.k, call.up.n, call.down.n) == (128, 2 * 192, 128)
    assert (call.gated, call.normalised) == (True, True)
    assert call.up.bits == call.down.bits == (4 if decoder.quantised else 0)
    assert call.limit == (7.0 if decoder.swiglu else pytest.approx(3.4e38))
    assert set(operands) - fixed == {"input", "router"}


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (mixture(3, kind="tanh"), "the activation tanh"),
        (mixture(3, use_sparse_mixer=1), "use_sparse_mixer"),
        (mixture(3, kind="swiglu"), "swiglu_fusion 0 and these products"),
        (mixture(3, kind="swiglu", fusion=1, third=True), "swiglu_fusion 1 and these products"),
        (mixture(3, hidden=60), "no multiple of 8"),
        (mixture(3, experts=64, k=33), "33 of 64 experts"),
        (packed_mixture(3, block=16), "blocks of 16 weights of 4 bits"),
        (packed_mixture(3, bits=(2, 2), block=64), "weights of 2 bits"),
        (packed_mixture(3, quant_type="nvfp4"), "weights of nvfp4"),
        (packed_mixture(3, weights_prepacked=1), "weights_prepacked"),
        (
            packed_mixture(3, third=True, fc3_expert_weight_bits=8),
            "scales of another size",
        ),
    ],
)
def test_what_no_kernel_does_has_a_reason(layer: Layer, reason: str) -> None:
    values = {
        index: np.ones(layer.tensors[index].shape, layer.tensors[index].dtype)
        for index in layer.inputs()
    }
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)
