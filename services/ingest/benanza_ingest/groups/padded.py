"""A convolution of what a Pad enlarges by zeros is one that pads by itself.

Exports have a Pad where a model pads by more on one side, as TensorFlow's models do with
`padding="SAME"`. The group's layer is the convolution with the padding added to its own, and with
as much of its epilogue as is made of the model's own operators:
https://onnx.ai/onnx/operators/onnx__Conv.html.
"""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from benanza_ingest.groups.epilogue import LONGEST, Chain, Chains, prefixes
from benanza_ingest.groups.joining import Joiner, Named
from benanza_ingest.groups.regions.fusible import axes_of
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.layering.operator_values import elements
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator

RULE = "padded"


def propose(wiring: Wiring, epilogues: Chains) -> list[Chain]:
    """The groups of all convolutions behind such a Pad, each with its layer."""
    joiner = Joiner(wiring)
    return [
        chain
        for position in wiring.of("Pad")
        if wiring.layers[position].kind == "movement"
        for chain in _chains(wiring, epilogues, joiner, position)
    ]


def _chains(wiring: Wiring, epilogues: Chains, joiner: Joiner, pad: int) -> Iterator[Chain]:
    start = wiring.only_reader(pad)
    padding = _zeros_around(wiring, pad)
    if start is None or padding is None:
        return
    convolution = wiring.layers[start]
    if convolution.op != "Conv" or convolution.domain or convolution.kind != "compute":
        return
    if wiring.node(start).inputs[0] != wiring.node(pad).outputs[0]:
        return  # It pads the weights.
    for positions in ((start,), *prefixes(epilogues.get(start, ()))):
        if len(positions) < LONGEST:
            form = _form(wiring, pad, joiner.named(positions), padding)
            if form is not None:
                yield Chain((pad, *positions), form)


def _zeros_around(wiring: Wiring, pad: int) -> tuple[int, ...] | None:
    """The zeros before and after each axis of space, as a convolution's `pads` has them; None if it
    pads by anything else.
    """
    layer = wiring.layers[pad].layer
    if layer is None:
        return None
    (operator,) = layer.operators
    if operator.attribute("mode") not in ("constant", None) or not _is_zero(layer, operator):
        return None
    rank = len(layer.tensors[operator.inputs[0]].shape)
    given = operator.integers("pads") or elements(layer, operator, 1)
    has_axes = len(operator.inputs) > 3 and operator.inputs[3] != OMITTED
    axes = axes_of(layer, operator, 3) if has_axes else tuple(range(rank))
    if axes is None or given is None or len(given) != 2 * len(axes):
        return None
    around = np.zeros((2, rank), np.int64)
    around[:, [axis % rank for axis in axes]] = np.reshape(given, (2, len(axes)))
    if around.min() < 0 or around[:, :2].any():
        return None
    return tuple(around[:, 2:].flatten().tolist())


def _is_zero(layer: Layer, operator: Operator) -> bool:
    """Whether the value that it pads with is known to be zero, which is the default."""
    if operator.attribute("value"):
        return False
    if len(operator.inputs) < 3 or operator.inputs[2] == OMITTED:
        return True
    value = layer.tensors[operator.inputs[2]].value
    return value is not None and not any(value)


def _form(wiring: Wiring, pad: int, named: Named, padding: tuple[int, ...]) -> Named | None:
    """The joined convolution that reads what the Pad reads; None if something else in the group
    reads that, too.
    """
    padded = wiring.layers[pad].layer
    assert padded is not None, "rules leave skipped layers out"
    name = wiring.node(pad).inputs[0]
    if name in named.names:
        return None
    convolution, *rest = named.layer.operators
    data = convolution.inputs[0]
    own = convolution.integers("pads")  # ingest writes all attributes
    pads = tuple(a + b for a, b in zip(own, padding, strict=True))
    attributes = tuple(
        Attribute("pads", pads) if attribute.name == "pads" else attribute
        for attribute in convolution.attributes
    )
    tensors, names = list(named.layer.tensors), list(named.names)
    tensors[data] = replace(
        tensors[data], shape=padded.tensors[padded.operators[0].inputs[0]].shape
    )
    names[data] = name
    operators = (replace(convolution, attributes=attributes), *rest)
    layer = Layer(tuple(tensors), operators, named.layer.outputs)
    return Named(layer, tuple(names), fingerprint(layer))
