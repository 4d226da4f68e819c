"""Several queries behind a cache see as much of the buffer in which it is kept as of the cache."""

import numpy as np
import onnxruntime
import pytest

from benanza_ingest.states import find as states
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_schemas.layer import Layer
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN
from tests.ingest import onnx_text
from tests.ingest.onnx_text import of_operator

PAST = 100


def step(
    rank: int = 4,
    queries: int = 3,
    keys: int = 3,
    mask: str = "",
    *,
    given: str = "is_causal=1",
    returned: bool = True,
) -> str:
    """A step of four heads of queries and two of keys, of which as many as PAST are kept."""
    sizes = {4: ("2,4,{}", "2,2,{}"), 3: ("2,{}", "2,{}")}[rank]
    depths = {4: ("16", "16"), 3: ("64", "32")}[rank]
    query, key = (
        f"float[{size.format(count)},{depth}]"
        for size, count, depth in zip(sizes, (queries, keys), depths, strict=True)
    )
    kept, after = f"float[2,2,{PAST},16]", f"float[2,2,{PAST + keys},16]"
    heads = "q_num_heads=4, kv_num_heads=2, " if rank == 3 else ""
    outputs = f", {after} c, {after} d" if returned else ""
    return f"""g ({query} q, {key} k, {key} v, {kept} pk, {kept} pv{mask and f", {mask} m"})
        => ({query} y{outputs})
        {{ y, c, d = Attention<{heads}{given}>(q, k, v, {"m" if mask else ""}, pk, pv) }}"""


def copied(text: str, opset: int = 24) -> set[str]:
    layers = onnx_text.extracted(text, opset).layers
    reasons = [each.reason for each in layers if each.reason.startswith(COPIED_STATE)]
    return {reason.removeprefix(COPIED_STATE) for reason in reasons}


def in_place(text: str, opset: int = 24) -> Layer:
    """The Attention, whose keys and values are both appended to buffers."""
    found = onnx_text.extracted(text, opset)
    assert [group.layers for group in found.groups if group.rule == STATE_AS_WRITTEN] == [
        (0,),
        (1,),
    ]
    layer = of_operator(found, "Attention").layer
    assert layer is not None
    return layer


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize(
    ("rank", "mask"),
    [(4, ""), (3, ""), (4, "bool[3,103]"), (4, "float[2,1,3,103]"), (3, "float[1,4,3,103]")],
)
def test_results_are_those_of_the_model(rank: int, mask: str, opset: int) -> None:
    text = step(rank, mask=mask)
    layer = in_place(text, opset)
    proto = onnx_text.proto(text, opset)
    random = np.random.default_rng(0)
    given: dict[str, Array] = {}
    for value in proto.graph.input:
        shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
        given[value.name] = random.standard_normal(shape, np.float32)
    if mask.startswith("bool"):
        given["m"] = given["m"] > -0.5
    wanted, keys, values = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, given)
    if rank == 3:
        keys, values = (x.transpose(0, 2, 1, 3).reshape(2, 103, 32) for x in (keys, values))
    behind = layer_model(layer)
    masks = [given["m"]] if mask else []
    inputs = dict(zip(behind.inputs, (given["q"], keys, values, *masks), strict=True))
    (result,) = onnxruntime.InferenceSession(behind.proto.SerializeToString()).run(None, inputs)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-6)


def test_as_much_is_computed_and_no_weight_is_added() -> None:
    found = of_operator(onnx_text.extracted(step(), 24), "Attention")
    kept = of_operator(onnx_text.extracted(step(returned=False), 24), "Attention")
    assert found.flops == kept.flops
    assert found.parameters == 0


def test_more_kept_keys_are_another_layer() -> None:
    layer = in_place(step())
    told = layer.tensors[layer.operators[0].inputs[6]]
    assert told.value == np.array([103, 103], "<i8").tobytes()


def test_what_sees_all_keys_is_told_nothing() -> None:
    for text in (step(given="is_causal=0"), step(queries=1, keys=1)):
        operator = in_place(text).operators[0]
        assert len(operator.inputs) == 3
        assert not operator.integer("is_causal")


@pytest.mark.parametrize("queries", [1, 3])
def test_a_window_ends_where_it_did(queries: int) -> None:
    window = step(queries=queries, keys=queries, given="is_causal=1, left_window_size=8")
    found = of_operator(onnx_text.extracted(window, 25), "Attention")
    kept = window.replace(", float[2,2,103,16] c, float[2,2,103,16] d", "").replace(
        ", float[2,2,101,16] c, float[2,2,101,16] d", ""
    )
    assert found.flops == of_operator(onnx_text.extracted(kept, 25), "Attention").flops
    assert len(in_place(window, 25).operators[0].inputs) == 7


@pytest.mark.parametrize(
    "text",
    [
        step(queries=1, keys=3),  # which doesn't see the last two
        step(queries=3, keys=1),
        step(mask="bool[3,100]"),  # whose new keys are hidden
        step(queries=2, keys=5, given="right_window_size=0"),
    ],
)
def test_other_steps_are_copied(text: str) -> None:
    assert copied(text, 25) == {states.CAUSAL}


def test_one_layer_of_both_opsets() -> None:
    assert in_place(step(), 23) == in_place(step(), 24)
