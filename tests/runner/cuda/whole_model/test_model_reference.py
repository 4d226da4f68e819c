"""What a model's results should be, and by how much they may be off."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.extract import extract
from benanza_ingest.program import program
from benanza_runner.cuda.reference import CpuLayer
from benanza_runner.cuda.whole_model.model_inputs import model_inputs
from benanza_runner.cuda.whole_model.model_reference import (
    MOST_ERROR,
    ModelReference,
    model_reference,
)
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Choice, Program
from benchmarks.decoders.__main__ import small
from tests.attending_model import attending_model
from tests.branching_model import branching_model
from tests.choosing_model import choosing_model
from tests.dense_model import dense_model
from tests.ingest.onnx_text import content
from tests.runner.cuda.layers.products import PRODUCTS
from tests.runner.cuda.layers.samples import convolution
from tests.viewing_model import viewing_model

MODELS = (attending_model, branching_model, choosing_model, dense_model, viewing_model)
CHOSEN = Choice("a library", "an algorithm", "")


def called(model: bytes, *, grouped: bool = False) -> Program:
    """A model in which each layer is a call of its own or, if `grouped`, groups are calls: of those
    that overlap, one of the largest.
    """
    found = extract(model)
    blocks: list[tuple[int, ...]] = []
    free = {at for at, layer in enumerate(found.layers) if layer.kind != "view" or grouped}
    for group in sorted(found.groups, key=lambda group: -len(group.layers)) if grouped else ():
        if free.issuperset(group.layers):
            free.difference_update(group.layers)
            blocks.append(group.layers)
    blocks += [(at,) for at in sorted(free) if found.layers[at].kind != "view"]
    steps = program(model, blocks)
    return Program(
        tuple(
            msgspec.structs.replace(
                step, choice=None if step.kind == "view" and len(step.positions) == 1 else CHOSEN
            )
            for step in steps.steps
        ),
        steps.outputs,
    )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model", MODELS)
def test_rounding_stays_within_what_is_allowed(
    model: Callable[[], bytes], precision: Precision
) -> None:
    """Here of inputs and weights; results stay in float32."""
    exact = model_reference(called(model()), "fp32", threads=1)
    found = model_reference(called(model()), precision, threads=1)
    assert found.outputs
    assert found.error(found.outputs) == 0
    assert found.error(exact.outputs) <= found.allowed
    assert PRECISIONS[precision].tolerance <= found.allowed < 0.3


@pytest.mark.parametrize("model", [choosing_model, viewing_model])
def test_groups_compute_what_their_layers_compute(model: Callable[[], bytes]) -> None:
    """The other models have groups whose weights are drawn otherwise than those of their layers:
    before a rectifier, and for the mask of an attention.
    """
    apart = model_reference(called(model()), "fp32", threads=1)
    joined = called(model(), grouped=True)
    assert len(joined.steps) < len(called(model()).steps)
    assert apart.error(model_reference(joined, "fp32", threads=1).outputs) <= apart.allowed


def test_errors_stay_where_the_next_operator_is_defined() -> None:
    text = "g (float[4,100] x) => (y) { a = Relu(x) y = Sqrt(a) }"
    assert model_reference(called(content(text)), "fp16", threads=1).allowed < 0.02


def test_the_worst_output_counts() -> None:
    expected = {"a": np.ones(4, np.float32), "b": np.full(9, 2.0, np.float32)}
    reference = ModelReference(expected, 0.1)
    assert reference.error(expected) == 0
    assert reference.error(expected | {"b": expected["b"] * 1.5}) == pytest.approx(0.5)
    broken = np.array([1.0, np.nan, 1.0, 1.0], np.float32)
    assert reference.error(expected | {"a": broken}) == MOST_ERROR


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("g (float[4] x) => (y) { a = Abs(x) n = Neg(a) y = Sqrt(n) }", "aren't finite"),
        ("g (float[4] x) => (x) { y = Abs(x) }", "no step computes an output"),
        ("g (float[4] x) => (y) { a = Abs(x) b = Abs(a) y = Sub(b, a) }", "nothing would be"),
    ],
)
def test_what_can_not_be_compared_has_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model_reference(called(content(text)), "fp32", threads=1)


@pytest.mark.parametrize(
    "layer",
    [
        convolution((1, 64, 8, 8), (64, 64, 3, 3), (1, 64, 6, 6)),
        *(PRODUCTS[name] for name in PRODUCTS if name.startswith(("einsum of blocks", "matmul"))),
    ],
)
def test_results_are_about_as_large_as_inputs(layer: Layer) -> None:
    given = model_inputs(layer, "fp32")
    (result,) = CpuLayer(layer, given, "fp32", 1).results(given)
    sizes = [np.sqrt(np.square(array).mean()) for array in (given[layer.inputs()[0]], result)]
    if any(layer.tensors[index].constant for index in layer.inputs()):
        assert 1 / 3 < sizes[1] / sizes[0] < 3
    else:
        assert sizes[1] > sizes[0]


def test_lengths_that_follow_from_a_random_mask_are_taken_to_be_whole() -> None:
    """ONNX Runtime refuses lengths that a cache has no room for."""
    decoder = next(decoder for decoder in DECODERS if decoder.name == "qwen2.5-0.5b-int4-cpu")
    model = build(small(decoder))
    sizes = {"batch_size": 1, "sequence_length": 1, "past_sequence_length": 7}
    sizes["total_sequence_length"] = 8
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = sizes[dim.dim_param]
    found = model_reference(called(model.SerializeToString()), "fp16", threads=1)
    assert all(np.isfinite(array).all() for array in found.outputs.values())
