"""Operators with the DequantizeLinear before them and the QuantizeLinear behind them.

Runtimes run such a unit as one call on integers, and a product with dequantised weights as one that
reads the integers: ONNX Runtime by onnxruntime/core/optimizer/qdq_transformer/selectors_actions.
"""

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from benanza_ingest.groups.quantised.clipped import quantised
from benanza_ingest.groups.wiring import Wiring

QUANTISE = "QuantizeLinear"
DEQUANTISE = "DequantizeLinear"
PRODUCTS = frozenset(("Gemm", "MatMul"))

_OF_TWO = frozenset("Add Conv Gemm MatMul Mul".split())
_OF_ONE = frozenset("AveragePool GlobalAveragePool LeakyRelu Sigmoid Softmax".split())
_KEEPING = frozenset(
    "DepthToSpace Expand Flatten Gather Identity MaxPool Reshape Resize Slice SpaceToDepth Split "
    "Squeeze Tile Transpose Unsqueeze".split()
)
"""Their results have elements of their inputs, and so are the same on integers of one scale."""

_OPERATORS = _OF_TWO | _OF_ONE | _KEEPING | {"ArgMax", "Concat", "Where"}


class Unit(NamedTuple):
    """The positions of a unit, ascending: its operator, and all around it.

    `clipped` are activations among them that change nothing. `keeps` says that the results have
    elements of the input, and integers of the same scale.
    """

    positions: tuple[int, ...]
    clipped: tuple[int, ...] = ()
    keeps: bool = False


def dequantising(wiring: Wiring) -> list[int]:
    """The positions of each DequantizeLinear: ONNX's, or that which ONNX Runtime's quantiser writes
    for types that an older opset lacks.
    """
    return [
        position
        for position, layer in enumerate(wiring.layers)
        if layer.op == DEQUANTISE and layer.layer is not None
    ]


def unit(wiring: Wiring, position: int) -> Unit | None:
    """The unit of the operator at this position, if it is in one.

    Others may read the results of its DequantizeLinear, too.
    """
    layer = wiring.layers[position]
    if layer.op not in _OPERATORS or layer.domain or layer.layer is None:
        return None
    before = dequantised_operands(wiring, position)
    sources = tuple(sorted({source for way in before for source in way}))
    if not sources:
        return None
    weights = all(_is_constant(wiring, way[0]) for way in before if way)
    if not all(before[slot] for slot in _data(layer.op, len(before))):
        return Unit((*sources, position)) if layer.op in PRODUCTS and weights else None
    ends = _ends(wiring, position)
    if ends is None:
        alone = layer.op in PRODUCTS | {"ArgMax", "Conv"} or (layer.op == "Gather" and weights)
        return Unit((*sources, position)) if alone else None
    positions = tuple(sorted((*sources, position, *ends)))
    clipped = tuple([end for end in ends if wiring.layers[end].op != QUANTISE])
    if layer.op not in _KEEPING:
        return Unit(positions, clipped)
    scaled = [member for member in positions if wiring.layers[member].op in (QUANTISE, DEQUANTISE)]
    same = len({(_integers(wiring, member), *same_scale(wiring, member)) for member in scaled}) == 1
    return (
        Unit(positions, clipped, keeps=True) if same and _has_one_scale(wiring, position) else None
    )


def dequantised_operands(wiring: Wiring, position: int) -> list[tuple[int, ...]]:
    """For each operand of a layer the DequantizeLinear that makes it, and a Transpose of weights
    behind it; nothing for others.
    """
    return [_before(wiring, position, name) for name in wiring.node(position).inputs]


def same_scale(wiring: Wiring, position: int) -> list[object]:
    """The scale and zero point of a QuantizeLinear or DequantizeLinear: equal for equal constants,
    whatever their names are.
    """
    constants = wiring.graph.constants
    parameters: list[object] = []
    for name in wiring.node(position).inputs[1:3]:
        value = constants.value(name) if name in constants else None
        parameters.append(
            name if value is None else (str(value.dtype), value.shape, value.tobytes())
        )
    return parameters


def _integers(wiring: Wiring, position: int) -> str:
    """The type of what a QuantizeLinear writes, or a DequantizeLinear reads."""
    layer = wiring.layers[position].layer
    assert layer is not None, "only layers are in units"
    (operator,) = layer.operators
    places = operator.outputs if operator.op_type == QUANTISE else operator.inputs
    return layer.tensors[places[0]].dtype


def _has_one_scale(wiring: Wiring, position: int) -> bool:
    """Whether the elements that a layer reads have one scale: others would get another one with
    another place.
    """
    source, *_ = _before(wiring, position, wiring.node(position).inputs[0])
    layer = wiring.layers[source].layer
    assert layer is not None, "only layers are in units"
    return prod(layer.tensors[layer.operators[0].inputs[1]].shape) == 1


def _data(op: str, inputs: int) -> Iterable[int]:
    """The inputs that have to be quantised."""
    match op:
        case "Concat":
            return range(inputs)
        case "Where":
            return 1, 2
        case _:
            return (0, 1) if op in _OF_TWO else (0,)


def _before(wiring: Wiring, reader: int, name: str) -> tuple[int, ...]:
    """The DequantizeLinear that makes an operand, and a Transpose of weights behind it."""
    writer = wiring.writers.get(name)
    if writer is None or wiring.layers[writer].layer is None:
        return ()
    if wiring.layers[writer].op == DEQUANTISE:
        return (writer,)
    if wiring.layers[writer].op != "Transpose" or wiring.only_reader(writer) != reader:
        return ()
    source = wiring.writers.get(wiring.node(writer).inputs[0])
    if source is None or wiring.layers[source].layer is None:
        return ()
    weights = wiring.layers[source].op == DEQUANTISE and _is_constant(wiring, source)
    return (source, writer) if weights else ()


def _is_constant(wiring: Wiring, dequantise: int) -> bool:
    return wiring.node(dequantise).inputs[0] in wiring.graph.constants


def _ends(wiring: Wiring, position: int) -> list[int] | None:
    """The QuantizeLinear that alone reads each result, and what changes nothing before it; None if
    one lacks.
    """
    ends: list[int] = []
    for name in wiring.node(position).outputs:
        readers = wiring.readers.get(name)
        if not readers:
            continue
        way = quantised(wiring, readers[0]) if len(readers) == 1 and readers[0] >= 0 else ()
        if not way or wiring.node(way[0]).inputs[0] != name:
            return None
        ends += way
    return ends
