"""In which forms ONNX Runtime would run a layer."""

import pytest

from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.blocked import Shape
from benanza_runner.onnxruntime.forms import forms_of
from benanza_runner.onnxruntime.session import CPU, Provider
from benanza_schemas.layer import Layer, Precision
from tests.runner.layers import conv, conv_group, floats, relu, single, weights
from tests.runner.onnxruntime.needs_blocks import needs_blocks

MAP, ODD_MAP = floats(1, 32, 7, 5), floats(1, 33, 7, 5)
SHAPE, ODD_SHAPE = MAP.shape, ODD_MAP.shape


def to_odd_channels() -> Layer:
    return single("Conv", 1, (MAP, weights(33, 32, 1, 1)), (ODD_MAP,), kernel_shape=(1, 1))


@needs_blocks
@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (relu(64), [("", (), ())]),
        (single("Add", 7, (MAP, MAP), (MAP,)), [("", (), (SHAPE,))]),
        (
            single("Softmax", 13, (MAP,), (MAP,), axis=1),
            [("NCHW", (SHAPE,), (SHAPE,)), ("NHWC", (SHAPE,), (SHAPE,))],
        ),
        # In blocks it computes as many elements as the padded block has.
        (
            single("Relu", 14, (ODD_MAP,), (ODD_MAP,)),
            [("NCHW", (ODD_SHAPE,), (ODD_SHAPE,)), ("NCHWc", (ODD_SHAPE,), (ODD_SHAPE,))],
        ),
        # What both write has to be converted for a reader in either layout.
        (
            to_odd_channels(),
            [("NCHW", (SHAPE,), (ODD_SHAPE,)), ("NCHWc", (SHAPE,), (ODD_SHAPE,))],
        ),
        # It reads too few channels for a block: those stay as ONNX has them.
        (
            conv(3, 7),
            [("NCHW", ((1, 3, 7, 7),), ((1, 3, 7, 7),)), ("NCHWc", (), ((1, 3, 7, 7),))],
        ),
    ],
    ids=[
        "a vector",
        "takes either",
        "channels first",
        "a padded block",
        "to odd channels",
        "few channels",
    ],
)
def test_layouts_and_what_is_converted(
    layer: Layer, expected: list[tuple[str, tuple[Shape, ...], tuple[Shape, ...]]]
) -> None:
    forms = forms_of(layer, layer_model(layer), CPU, "fp32")
    assert [(form.layout, form.reads, form.writes) for form in forms] == expected


@pytest.mark.parametrize(
    ("provider", "precision"), [(CPU, "fp16"), (Provider("CPUExecutionProvider", "gpu"), "fp32")]
)
def test_blocks_are_of_fp32_on_cpus(provider: Provider, precision: Precision) -> None:
    layer = conv(32, 7)
    (form,) = forms_of(layer, layer_model(layer), provider, precision)
    assert form.layout == ""


def test_a_group_is_fused_as_onnx_runtime_does() -> None:
    layer = conv_group(9, 6, "BatchNormalization", "Add", "Relu")
    forms = forms_of(layer, layer_model(layer), CPU, "fp32")
    assert forms[0].op_types() == ["FusedConv"]
