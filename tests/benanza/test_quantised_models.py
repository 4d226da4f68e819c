"""Models as ONNX Runtime's own quantiser writes them: no more calls than ONNX Runtime makes."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

from benanza_analyzer.models.cover import cheapest_groups, component_shape
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedModel
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.forms import forms_of
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.element_types import FROM_ONNX, size_bytes
from tests.examples import examples

SHAPE = (1, 8, 8, 8)


class Calibration(CalibrationDataReader):  # type: ignore[misc]  # it has no types
    """One random input."""

    def __init__(self) -> None:
        self._left = [{"x": np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)}]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


def float_model(draw: random.Random) -> onnx.ModelProto:
    """Operators that ONNX Runtime's quantiser knows, one after another or with a residual."""
    nodes: list[onnx.NodeProto] = []
    weights: list[TensorProto] = []
    values = [("x", 8)]

    def weight(*shape: int) -> str:
        array = np.random.default_rng(len(weights)).standard_normal(shape).astype(np.float32)
        weights.append(numpy_helper.from_array(array, f"w{len(weights)}"))
        return str(weights[-1].name)

    def add(op: str, inputs: list[str], channels: int, **attributes: Any) -> None:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], name=f"n{len(nodes)}", **attributes))
        values.append((name, channels))

    for _ in range(draw.randint(1, 6)):
        value, channels = values[-1]
        match draw.choice("Conv Conv Relu Sigmoid LeakyRelu AveragePool Add Mul Concat".split()):
            case "Conv":
                read = [value, weight(16, channels, 3, 3), weight(16)]
                add("Conv", read[: draw.randint(2, 3)], 16, pads=[1, 1, 1, 1])
            case "AveragePool":
                add("AveragePool", [value], channels, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            case "Add" | "Mul" as op:
                same = [name for name, size in values if size == channels]
                add(op, [value, draw.choice(same)], channels)
            case "Concat":
                other, more = draw.choice(values)
                add("Concat", [value, other], channels + more, axis=1)
            case op:
                add(op, [value], channels)
    value, channels = values[-1]
    if draw.random() < 0.7:
        add("GlobalAveragePool", [value], channels)
        add("Flatten", [values[-1][0]], channels)
        add("Gemm", [values[-1][0], weight(channels, 10), weight(10)], 10)
    read_names = {name for node in nodes for name in node.input}
    ends = [name for name, _ in values if name not in read_names]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends],
        weights,
    )
    opset = helper.make_opsetid("", 20)
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


def quantised(draw: random.Random, folder: Path) -> Path:
    """The file that the quantiser writes."""
    source, target = folder / "float.onnx", folder / "quantised.onnx"
    onnx.save(float_model(draw), source)
    form = draw.choice((QuantFormat.QDQ, QuantFormat.QOperator, None))
    if form is None:
        quantize_dynamic(source, target, weight_type=QuantType.QInt8)
    else:
        quantize_static(
            source,
            target,
            Calibration(),
            quant_format=form,
            per_channel=draw.random() < 0.5,
            activation_type=draw.choice((QuantType.QUInt8, QuantType.QInt8)),
            weight_type=QuantType.QInt8,
            extra_options={"UseQDQContribOps": draw.random() < 0.3},
        )
    return target


def runs(group: ExtractedGroup) -> bool:
    """Whether ONNX Runtime runs a group as one call."""
    forms = forms_of(group.layer, layer_model(group.layer), CPU, "fp32")
    return any(len(form.op_types()) == 1 for form in forms)


def fewest_calls(model: ExtractedModel) -> int:
    """The calls of the cover of a model that has the fewest."""
    groups = [group for group in model.groups if runs(group)]
    shape = component_shape(len(model.layers), tuple(tuple(sorted(g.layers)) for g in groups))
    alone = [0.0 if layer.kind == "view" else 1.0 for layer in model.layers]
    taken = cheapest_groups(shape, (*alone, *[1.0 for _ in groups])).groups
    covered = {at for group in taken for at in groups[group].layers}
    return len(taken) + sum(int(us) for at, us in enumerate(alone) if at not in covered)


def calls_of_onnx_runtime(path: Path) -> list[str]:
    """The nodes of the graph that ONNX Runtime runs, with its default options."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path.with_suffix(".optimised"))
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]


def integers_in_file(path: Path) -> int:
    """The bytes of the weights that are no floats."""
    found = [(FROM_ONNX[t.data_type], t.dims) for t in onnx.load(path).graph.initializer]
    return sum(
        size_bytes(kind, int(np.prod(d))) for kind, d in found if "int" in kind and len(d) > 1
    )


def integers_in_layers(model: ExtractedModel) -> int:
    """The same in the layers, none of which is a view."""
    return sum(
        size_bytes(tensor.dtype, int(np.prod(tensor.shape)))
        for layer in model.layers
        if layer.layer is not None and layer.kind != "view"
        for tensor in layer.layer.tensors
        if tensor.constant and "int" in tensor.dtype and len(tensor.shape) > 1
    )


@settings(examples(0.1), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.randoms(use_true_random=False))
def test_no_more_calls_than_onnx_runtime_and_the_files_weights(
    draw: random.Random, tmp_path: Path
) -> None:
    path = quantised(draw, tmp_path)
    model = extract(path.read_bytes())
    assert integers_in_layers(model) == integers_in_file(path)
    made = calls_of_onnx_runtime(path)
    assert fewest_calls(model) <= len(made), made
