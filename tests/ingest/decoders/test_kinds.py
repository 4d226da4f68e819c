"""A token behind a prompt has the scores that it has at the end of a longer prompt.

Small decoders of the kinds that are not ONNX Runtime GenAI's, with weights, run by ONNX Runtime.
"""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.decoder import Crossed, Decoder, Latent
from benanza_ingest.resolving.fold import Array

Given = dict[str, Array]

TOKENS, BATCH, ENCODED = 9, 2, 7

SMALL = Decoder("small", 2, 32, 4, 4, 8, 48, 50, bits=32, precision=TensorProto.FLOAT, context=64)

KINDS = {
    "latent": replace(
        SMALL,
        latent=Latent(rank=16, rotated=4, width=12),
        shared_experts=2,
        dense_layers=1,
        dense_intermediate=40,
    ),
    "learned positions": replace(
        SMALL,
        bias=True,
        output_bias=True,
        activation="gelu",
        simple_norm=False,
        tied=True,
        crossed=Crossed(ENCODED, 24, learned_positions=True),
    ),
    "relative bias": replace(
        SMALL,
        activation="gelu",
        attention_scale=1.0,
        crossed=Crossed("encoder_length", 24, buckets=8, farthest=16),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_continues_a_prompt(kind: str) -> None:
    decoder = KINDS[kind]
    prompt, step = (session(build(replace(decoder, prompt=prompt))) for prompt in (True, False))
    chance = np.random.default_rng(0)
    ids = chance.integers(0, decoder.vocabulary, (BATCH, TOKENS))
    places = np.tile(np.arange(TOKENS), (BATCH, 1))
    states = chance.standard_normal((BATCH, ENCODED, 24)).astype(np.float32)
    given: Given = {"input_ids": ids, "position_ids": places, "encoder_hidden_states": states}
    whole = run(prompt, given)
    shorter = {"input_ids": ids[:, :-1], "position_ids": places[:, :-1]}
    before = run(prompt, given | shorter)
    kept = {name.replace("present", past(name)): value for name, value in before.items()}
    last = {"input_ids": ids[:, -1:], "position_ids": places[:, -1:]}
    found = run(step, kept | last)
    assert np.abs(found["logits"] - whole["logits"][:, -1:]).max() < 1e-4
    assert np.ptp(found["logits"]) > 0.1
    for name in found.keys() - {"logits"}:
        np.testing.assert_allclose(found[name], whole[name], atol=1e-4)


def past(name: str) -> str:
    return "past" if "latent" in name else "past_key_values"


def run(model: onnxruntime.InferenceSession, given: Given) -> Given:
    """The outputs by name, of those inputs that the model has."""
    names = [each.name for each in model.get_inputs()]
    outputs = [each.name for each in model.get_outputs()]
    return dict(
        zip(outputs, model.run(outputs, {name: given[name] for name in names}), strict=True)
    )


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    """The model with weights that follow from their names and shapes."""
    for weight in model.graph.initializer:
        if weight.external_data:
            value = values(weight.name, tuple(weight.dims))
            weight.CopyFrom(numpy_helper.from_array(value, weight.name))
    del model.graph.value_info[:]
    return onnxruntime.InferenceSession(model.SerializeToString())


def values(name: str, shape: tuple[int, ...]) -> Array:
    """A weight. That which makes keys and values of kept vectors is one of both."""
    base, _, part = name.rpartition(".kv_b_proj.")
    if part in ("keys", "values"):
        sizes = KINDS["latent"]
        assert sizes.latent is not None
        width = sizes.head_size + sizes.latent.width
        both = values(f"{base}.kv_b_proj.MatMul.weight", (sizes.latent.rank, sizes.heads * width))
        by_head = both.reshape(sizes.latent.rank, sizes.heads, width)
        if part == "keys":
            return np.ascontiguousarray(by_head[..., : sizes.head_size].transpose(1, 2, 0))
        return np.ascontiguousarray(by_head[..., sizes.head_size :].transpose(1, 0, 2))
    chance = np.random.default_rng(list(name.encode()))
    if "cache" in name:  # of cosines and sines
        angles = np.arange(shape[0])[:, None] / 10.0 ** np.arange(shape[1])
        return (np.cos if "cos" in name else np.sin)(angles).astype(np.float32)
    return (chance.standard_normal(shape) / 4).astype(np.float32)
