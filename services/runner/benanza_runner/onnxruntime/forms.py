"""The forms in which ONNX Runtime would run a layer inside of a model."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.between import DEQUANTISE, QUANTISE, between_floats
from benanza_runner.onnxruntime.blocked import (
    DOMAIN,
    LAYOUT,
    Shape,
    block_size,
    blocked,
    maps,
    pads,
)
from benanza_runner.onnxruntime.channels_last import LAYOUT as CHANNELS_LAST
from benanza_runner.onnxruntime.channels_last import channels_last, float_maps
from benanza_runner.onnxruntime.end_views import without_end_views
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU, Provider
from benanza_runner.reasons import short_reason
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Layer, Precision


class LayerForm(NamedTuple):
    """A layer as a model of the nodes that ONNX Runtime runs.

    `layout` is that of its feature maps, empty if it takes any. `reads` and `writes` are the
    shapes, in NCHW, of the feature maps that have to be converted where its neighbours have another
    layout. `refusal` says why there are no such nodes; `model` is the layer itself then.
    """

    model: LayerModel
    layout: str = ""
    reads: tuple[Shape, ...] = ()
    writes: tuple[Shape, ...] = ()
    refusal: str = ""

    def op_types(self) -> list[str]:
        """The nodes that run, in order."""
        return [node.op_type for node in self.model.proto.graph.node]


def forms_of(
    layer: Layer, model: LayerModel, provider: Provider, precision: Precision
) -> list[LayerForm]:
    """One form, or two if it takes other nodes in the layout NCHWc, or more elements, if the last
    block is padded; or other nodes with channels last, which is of fp32 and of integers on CPUs.

    `model` is the layer as it stands. Convolutions of integers have channels last only. Raises
    whatever ONNX Runtime raises when it refuses that.
    """
    plain = model
    if len(layer.operators) > 1 or layer.operators[0].op_type == "QLinearConv":
        plain = _fused(layer, model, provider)
    elif PRECISIONS[precision].element_type != "float32":
        plain = _optimised(model, provider, fused=False)
    if provider != CPU or precision != "fp32":
        return [LayerForm(plain)]
    graph = model.proto.graph
    reads, writes = (tuple(maps(infos).values()) for infos in (graph.input, graph.output))
    if not block_size() or not (reads or writes):
        return [LayerForm(plain), *_channels_last(plain)]
    try:
        in_blocks = blocked(model)
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        refused = LayerForm(
            model, LAYOUT, refusal=short_reason(f"ONNX Runtime: {short_reason(str(error))}")
        )
        return [LayerForm(plain, "NCHW", reads, writes), refused]
    if in_blocks is None:
        return [LayerForm(plain, "NCHW", reads, writes), *_channels_last(plain)]
    in_other_nodes = any(node.domain == DOMAIN for node in in_blocks.model.proto.graph.node)
    if not in_other_nodes and not any(map(pads, (*in_blocks.reads, *in_blocks.writes))):
        return [LayerForm(plain, "", (), in_blocks.writes)]
    in_order = LayerForm(plain, "NCHW", reads, in_blocks.writes)
    return [in_order, LayerForm(in_blocks.model, LAYOUT, in_blocks.reads, in_blocks.writes)]


def _channels_last(plain: LayerModel) -> list[LayerForm]:
    """The form with channels last, if there is one: where a model has them so, neighbours have,
    too. What is converted at its borders is floats.
    """
    try:
        model = channels_last(plain)
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        reason = short_reason(f"ONNX Runtime: {short_reason(str(error))}")
        return [LayerForm(plain, CHANNELS_LAST, refusal=reason)]
    if model is None:
        return []
    graph = plain.proto.graph
    return [LayerForm(model, CHANNELS_LAST, float_maps(graph.input), float_maps(graph.output))]


def _fused(layer: Layer, model: LayerModel, provider: Provider) -> LayerModel:
    """The nodes that ONNX Runtime makes of a group within a model, or of one as it stands where
    that is fewer.
    """
    left_out = {"Reshape"} | {"Transpose"} - {operator.op_type for operator in layer.operators}
    between = between_floats(model)
    if between is not None:
        made = _optimised(between, provider, fused=True)
        made = without_end_views(made, provider, left_out | {QUANTISE, DEQUANTISE})
        if len(made.proto.graph.node) == 1:
            return made
    return without_end_views(_optimised(model, provider, fused=True), provider, left_out)


def _optimised(model: LayerModel, provider: Provider, *, fused: bool) -> LayerModel:
    with tempfile.TemporaryDirectory(prefix="benanza-") as folder:
        return as_run(model, Path(folder), provider, optimised=fused)
