"""Operators of traces are the layers of models that do the same."""

import lzma
from functools import cache

import pytest

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.recording import recording
from benanza.tracing.trace_model import TracedPart, precision_of, trace_model
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.zoo import zoo_path
from tests.benanza.tracing.test_recording import TRACES

HEADS, PLACES, WIDTH = 6, 197, 384
BY_HEAD = (1, HEADS, PLACES, WIDTH // HEADS)
BY_PLACE = (PLACES * WIDTH, WIDTH // HEADS, WIDTH, 1)
"""How heads lie in memory where each place has its own one after the other."""


@cache
def of_vit() -> frozenset[str]:
    """The layers and groups of a vision transformer that PyTorch exported."""
    content = lzma.decompress(zoo_path("transformers:vit-small").read_bytes())
    model = extract(content, limits=Limits())
    return frozenset(
        (
            *(layer.fingerprint for layer in model.layers),
            *(group.fingerprint for group in model.groups),
        )
    )


def part_of(name: str, inputs: TracedInputs) -> TracedPart:
    (part,) = trace_model([(name, inputs)], Limits()).parts
    assert part.reason == ""
    return part


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("aten::linear", TracedInputs(((1, PLACES, WIDTH), (WIDTH, WIDTH), (WIDTH,)))),
        (
            "aten::layer_norm",
            TracedInputs(
                ((1, PLACES, WIDTH), (), (WIDTH,), (WIDTH,), ()), (), ("", "[384]", "", "", "1e-12")
            ),
        ),
        ("aten::add", TracedInputs(((1, PLACES, WIDTH), (1, PLACES, WIDTH)))),
    ],
)
def test_layers_are_those_of_an_exported_model(name: str, inputs: TracedInputs) -> None:
    dtypes = tuple("float16" if shape else "" for shape in inputs.shapes)
    typed = TracedInputs(inputs.shapes, dtypes, inputs.values)
    part = part_of(name, typed)
    assert {layer.fingerprint for layer in part.layers} <= of_vit()
    assert {group.fingerprint for group in part.groups} <= of_vit()


def test_attention_is_the_group_of_an_exported_model() -> None:
    inputs = TracedInputs((BY_HEAD,) * 3, ("float16",) * 3, ("",) * 3, (), (BY_PLACE,) * 3)
    (group,) = part_of("aten::scaled_dot_product_attention", inputs).groups
    assert group.rule == "attention"
    assert group.fingerprint in of_vit()


def test_layers_are_known_whichever_version_of_onnx_wrote_them() -> None:
    """The `onnx` package's resnet50 has opset 9."""
    content = zoo_path("resnet50").read_bytes()
    known = {layer.fingerprint for layer in extract(content, batch=32, limits=Limits()).layers}
    operators = recording(TRACES / "h200-resnet50-eager.json.gz").operators
    model = trace_model([(each.name, each.inputs) for each in operators], Limits())
    found = [
        operator.name
        for operator, part in zip(operators, model.parts, strict=True)
        if any(known.issuperset(way) for way in part.ways)
    ]
    assert found.count("aten::convolution") > 15
    assert {"aten::relu_", "aten::max_pool2d", "aten::linear"} <= set(found)


def test_convolutions_are_those_of_an_exported_model() -> None:
    """Which has a bias of zeros with each."""
    content = lzma.decompress(zoo_path("torchvision:resnet50").read_bytes())
    known = {layer.fingerprint for layer in extract(content, limits=Limits()).layers}
    values = ("", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1")
    shapes = ((1, 3, 224, 224), (64, 3, 7, 7), *((),) * 7)
    inputs = TracedInputs(shapes, ("float16", "float16", *("",) * 7), values)
    assert any(known.issuperset(way) for way in part_of("aten::convolution", inputs).ways)


def test_what_means_something_else_in_older_versions_is_not_looked_for_there() -> None:
    inputs = TracedInputs(((2, 3, 4), (), ()), ("float32", "", ""), ("", "1", "False"))
    softmax = part_of("aten::softmax", inputs)
    relu = part_of("aten::relu", TracedInputs(((2, 3, 4),), ("float32",)))
    assert len(softmax.ways) == 1, "before opset 13 it is over all axes from this one on"
    assert len(relu.ways) == 3


def test_a_group_stands_for_all_layers_of_an_operator() -> None:
    inputs = TracedInputs(((2, 4, 8), (16, 8), (16,)), ("float32",) * 3)
    part = part_of("aten::linear", inputs)
    assert [layer.op for layer in part.layers] == ["MatMul", "Add"]
    (group,) = part.groups
    assert len(group.layers) == 2


def test_operators_share_nothing() -> None:
    inputs = TracedInputs(((2, 8),), ("float32",))
    model = trace_model(
        [("aten::relu", inputs), ("aten::view", inputs), ("aten::relu", inputs)], Limits()
    )
    first, view, second = model.parts
    assert first.layers[0].fingerprint == second.layers[0].fingerprint
    assert not view.layers
    assert not extract(model.content, limits=Limits()).edges


def test_a_contradiction_is_the_reason_of_one_operator_alone() -> None:
    wrong = TracedInputs(((2, 8), (9, 4)), ("float32",) * 2)
    right = TracedInputs(((2, 8), (8, 4)), ("float32",) * 2)
    refused, taken = trace_model([("aten::mm", wrong), ("aten::mm", right)], Limits()).parts
    assert refused.reason
    assert [layer.op for layer in taken.layers] == ["MatMul"]


@pytest.mark.parametrize(
    ("dtypes", "precision"),
    [
        (("bfloat16", "float32"), "bf16"),
        (("int64", "float16"), "fp16"),
        ((("float16", "float16"), ""), "fp16"),
        (("int64",), "fp32"),
    ],
)
def test_the_precision_is_that_of_the_first_float(
    dtypes: tuple[str | tuple[str, ...], ...], precision: str
) -> None:
    assert precision_of(TracedInputs((), dtypes)) == precision


def test_shapes_that_can_t_be_cost_no_other_operator() -> None:
    def of(*shapes: tuple[int, ...]) -> TracedInputs:
        return TracedInputs(shapes, ("float32",) * len(shapes))

    parts = trace_model(
        [
            ("aten::relu", of((2, 8))),
            ("aten::relu", of((-1, 8))),
            ("aten::tanh", of((2**40, 8))),
            ("aten::exp", of((2**70,))),
            ("aten::mm", of((2**31, 2), (2, 2**31))),
            ("aten::mm", of((2, 8), (8, 4))),
        ],
        Limits(),
    ).parts
    assert [bool(part.layers) for part in parts] == [True, False, False, False, False, True]
    assert parts[1].reason == "the trace gives an input a negative size"
    assert "has more than 1,099,511,627,776 elements" in parts[2].reason
