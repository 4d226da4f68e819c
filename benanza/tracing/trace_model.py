"""The model of a trace: its operators as an ONNX file, and which layers they are.

Each operator is a part of its own, with inputs that nothing else writes: a trace doesn't say what
read the results of what.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onnx import GraphProto, ModelProto, helper

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.translating.translate import translated
from benanza.tracing.translating.writing import Writer
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer, ExtractedModel
from benanza_ingest.limits import Limits
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

OPSET = 23
"""The first that has Attention and RMSNormalization."""

_IR_VERSION = 11


class TracedPart(NamedTuple):
    """An operator as layers, and the groups that stand for all of them. `precision` is that of the
    first of its inputs that has one.

    Where it is none, `reason` says why, and there are no layers.
    """

    layers: tuple[ExtractedLayer, ...]
    groups: tuple[ExtractedGroup, ...]
    precision: Precision
    reason: str


class TraceModel(NamedTuple):
    """The ONNX file of a trace, without weights, and the part for each operator."""

    content: bytes
    parts: tuple[TracedPart, ...]


def trace_model(operators: Sequence[tuple[str, TracedInputs | None]], limits: Limits) -> TraceModel:
    """The model of these operators, by name and inputs. Raises `ModelError` if ingest can't take
    it, as it would be too large.
    """
    written = [
        translated(name, inputs, _prefix(number)) for number, (name, inputs) in enumerate(operators)
    ]
    content = _file(part for part in written if isinstance(part, Writer)).SerializeToString()
    model = extract(content, limits=limits)
    positions: dict[int, list[int]] = {}
    for position, layer in enumerate(model.layers):
        positions.setdefault(_number_in(layer.name), []).append(position)
    return TraceModel(
        content,
        tuple(
            TracedPart((), (), precision_of(inputs), part)
            if isinstance(part, str)
            else _part(model, positions.get(number, []), precision_of(inputs))
            for number, (part, (_, inputs)) in enumerate(zip(written, operators, strict=True))
        ),
    )


def precision_of(inputs: TracedInputs | None) -> Precision:
    """That of the first input of a precision's type, fp32 where there is none."""
    dtypes = [] if inputs is None else list(inputs.dtypes)
    for dtype in dtypes:
        first = dtype[0] if isinstance(dtype, tuple) and dtype else dtype
        for precision, facts in PRECISIONS.items():
            if first == facts.element_type:
                return precision
    return "fp32"


def _file(parts: Iterable[Writer]) -> ModelProto:
    graph = GraphProto(name="trace")
    for part in parts:
        graph.node.extend(part.nodes)
        graph.input.extend(part.read)
        graph.initializer.extend(part.weights)
        graph.output.extend(map(helper.make_empty_tensor_value_info, part.results))
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def _part(model: ExtractedModel, positions: Sequence[int], precision: Precision) -> TracedPart:
    layers = tuple(model.layers[position] for position in positions)
    reason = next((layer.reason for layer in layers if layer.kind == "skipped"), "")
    if reason or not layers:
        return TracedPart((), (), precision, reason or "ingest finds no layer in it")
    computing = {position for position in positions if model.layers[position].kind != "view"}
    groups = (group for group in model.groups if computing <= set(group.layers) <= set(positions))
    return TracedPart(layers, tuple(groups), precision, "")


def _prefix(number: int) -> str:
    return f"o{number}_"


def _number_in(name: str) -> int:
    return int(name.partition("_")[0].removeprefix("o"))
