"""Decoders that keep states of one size: they have as many parameters as is published, ONNX Runtime
runs small ones, and all their layers have calls.
"""

from math import prod

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from benanza_ingest.decoders.hybrids import DeltaHybrid, qwen3_next
from benanza_ingest.decoders.state_space import StateSpaceModel, mamba2
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.precision import retyped

SPACE = StateSpaceModel(layers=2, hidden=64, heads=4, head_size=16, state_size=32, vocabulary=96)
DELTA = DeltaHybrid(
    layers=2,
    full_every=2,
    hidden=64,
    key_heads=2,
    value_heads=4,
    delta_size=32,
    heads=4,
    kv_heads=2,
    head_size=32,
    rotary_size=16,
    context=64,
    experts=4,
    top_k=2,
    intermediate=32,
    vocabulary=96,
)
PAST, LENGTH = 21, 3
DIMS = {
    "batch_size": 2,
    "sequence_length": LENGTH,
    "past_sequence_length": PAST,
    "total_sequence_length": PAST + LENGTH,
}
MODELS = {"mamba2": mamba2(SPACE), "qwen3-next": qwen3_next(DELTA)}


@pytest.mark.parametrize(
    ("model", "billions"),
    [(mamba2(StateSpaceModel()), 2.7), (qwen3_next(DeltaHybrid()), 80)],  # the model cards
    ids=list(MODELS),
)
def test_the_number_of_parameters_is_the_published_one(model: ModelProto, billions: float) -> None:
    weights = [each for each in model.graph.initializer if each.external_data]
    computed = {"cosines", "sines"}
    found = sum(prod(each.dims) for each in weights if each.name not in computed)
    assert found == pytest.approx(billions * 1e9, rel=0.02)


def with_weights(model: ModelProto) -> ModelProto:
    """The model with small random weights; decays are below zero."""
    copy = ModelProto.FromString(model.SerializeToString())
    random = np.random.default_rng(0)
    for at, each in enumerate(copy.graph.initializer):
        if each.data_location == TensorProto.EXTERNAL:
            made = random.normal(0, 0.3, tuple(each.dims)).astype(np.float32)
            if each.name.rstrip("0123456789") == "a_":
                made = -np.abs(made)
            copy.graph.initializer[at].CopyFrom(numpy_helper.from_array(made, each.name))
    return copy


def ran(model: ModelProto, tokens: Array, states: dict[str, Array]) -> dict[str, Array]:
    """The results for these tokens, behind those of which the states are."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    given = states | {"input_ids": tokens}
    given = {each.name: given[each.name] for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


def before_tokens(model: ModelProto) -> dict[str, Array]:
    """States before the first token: of zeros, and no keys and values."""
    made = {}
    for each in model.graph.input:
        dims = each.type.tensor_type.shape.dim
        lengths = DIMS | {"past_sequence_length": 0}
        shape = [lengths.get(dim.dim_param, dim.dim_value) for dim in dims]
        dtype = helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        made[each.name] = np.zeros(shape, dtype)
    return made


def test_a_prompt_leaves_the_states_that_its_tokens_leave_one_by_one() -> None:
    model = with_weights(MODELS["qwen3-next"])
    tokens = np.array([[5, 7, 11], [2, 3, 1]], np.int64)

    def mask(total: int) -> dict[str, Array]:
        return {"attention_mask": np.ones((2, total), np.int64)}

    prompt = ran(model, tokens, before_tokens(model) | mask(LENGTH))
    states = before_tokens(model)
    for at in range(LENGTH):
        step = ran(model, tokens[:, at : at + 1], states | mask(at + 1))
        states |= {name.removeprefix("new"): value for name, value in step.items()}
    for name in step.keys() - {"logits"}:
        np.testing.assert_allclose(step[name], prompt[name], 1e-3, 1e-5)
    np.testing.assert_allclose(step["logits"][:, 0], prompt["logits"][:, -1], 1e-3, 1e-4)


def test_a_step_of_a_state_space_model_forgets_what_decays() -> None:
    model = with_weights(MODELS["mamba2"])
    tokens = np.array([[5], [7]], np.int64)
    random = np.random.default_rng(1)
    before = {
        n: random.normal(size=a.shape).astype(a.dtype) for n, a in before_tokens(model).items()
    }
    step = ran(model, tokens, before)
    for name in ("conv_0", "state_0"):
        assert step[f"new{name}"].shape == before[name].shape
    np.testing.assert_array_equal(step["newconv_0"][..., :-1], before["conv_0"][..., 1:])
    empty = ran(model, tokens, before | {"state_0": np.zeros_like(before["state_0"])})
    kept = (step["newstate_0"] - empty["newstate_0"]) / before["state_0"]
    assert kept.min() > 0
    assert kept.max() < 1


def extracted(name: str) -> ExtractedModel:
    model = MODELS[name]
    shapes = (each.type.tensor_type.shape.dim for each in model.graph.input)
    named = {dim.dim_param for shape in shapes for dim in shape if dim.dim_param}
    return extract(model.SerializeToString(), dims={dim: DIMS[dim] for dim in named})


@pytest.mark.parametrize("name", list(MODELS))
def test_all_layers_have_calls_and_no_state_is_copied(name: str) -> None:
    found = extracted(name)
    assert not [layer.reason for layer in found.layers if layer.reason]
    for layer in found.layers:
        if layer.layer is not None and layer.kind != "view":
            single = retyped(layer.layer, "fp32")
            lower(single, random_inputs(single, "fp32"))


def test_a_region_reads_and_writes_each_state_of_a_state_space_model_once() -> None:
    found = extracted("mamba2")
    shape = (2, SPACE.heads, SPACE.head_size, SPACE.state_size)
    state = 4 * prod(shape)
    product = next(
        at
        for at, layer in enumerate(found.layers)
        if layer.op == "MatMul" and layer.layer and layer.layer.tensors[0].shape == shape
    )
    regions = [
        group for group in found.groups if product in group.layers and group.rule == "region"
    ]
    whole = max(regions, key=lambda group: len(group.layers))
    assert 2 * state <= whole.bytes < 2.6 * state
    try:
        lower(retyped(whole.layer, "fp32"), random_inputs(retyped(whole.layer, "fp32"), "fp32"))
    except UnsupportedError as error:
        pytest.fail(str(error))
