"""Layers whose result is a value that exists already: what they read, or what the layer before them
reads, which they undo.

Sources: noop_elimination.cc, cast_chain_elimination.cc and transpose_optimization of ONNX Runtime
1.31.
"""

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.resolving.graph import Graph
from benanza_schemas.layer import Layer

_NEUTRAL = {"Add": (0, (0, 1)), "Div": (1, (1,)), "Mul": (1, (0, 1)), "Sub": (0, (1,))}
"""By operator, the number that changes nothing, and the inputs at which it may stand."""

_LOSSLESS = frozenset(
    (narrow, wide)
    for wide, kept in {
        "float32": ("float16", "bfloat16", "int8", "uint8", "int16", "uint16"),
        "float64": ("float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16", "int32"),
        "int32": ("int8", "uint8", "int16", "uint16"),
        "int64": ("int8", "uint8", "int16", "uint16", "int32", "uint32"),
    }.items()
    for narrow in (*kept, "bool")
)
"""Pairs of types of which the second holds all numbers of the first."""


def changes_nothing(graph: Graph, extracted: ExtractedLayer, inputs: tuple[str, ...]) -> str:
    """The input of a layer that is its result as well; "" if there is none."""
    layer, constants = extracted.layer, graph.constants
    if layer is None or extracted.domain or len(layer.outputs) != 1:
        return ""
    result = layer.tensors[layer.outputs[0]]
    read = [*zip(inputs, layer.operators[0].inputs, strict=False)]
    given = [(name, index) for name, index in read if name and name not in constants]
    if len(given) != 1:
        return ""
    ((name, index),) = given
    data = layer.tensors[index]
    if (data.dtype, data.shape) != (result.dtype, result.shape):
        return ""
    if extracted.kind == "view":
        return name
    number, places = _NEUTRAL.get(extracted.op, (0, ()))
    others = [(place, other) for place, (other, _) in enumerate(read) if other in constants]
    neutral = [place in places and _is_number(graph, other, number) for place, other in others]
    return name if neutral == [True] else ""


def undoes(extracted: ExtractedLayer, before: ExtractedLayer) -> bool:
    """Whether the result of a layer is what the layer `before`, whose result it reads, reads."""
    layer, first = extracted.layer, before.layer
    if layer is None or first is None or extracted.domain or before.domain:
        return False
    if extracted.op == before.op == "Transpose":
        perm = _perm(first)
        return [perm[axis] for axis in _perm(layer)] == [*range(len(perm))]
    if extracted.op == before.op == "Cast":
        source, between, result = (
            tensor.dtype for tensor in (*first.tensors[:2], layer.tensors[1])
        )
        return source == result and (source, between) in _LOSSLESS
    return False


def _perm(layer: Layer) -> tuple[int, ...]:
    rank = len(layer.tensors[0].shape)
    return layer.operators[0].integers("perm") or tuple(reversed(range(rank)))


def _is_number(graph: Graph, name: str, wanted: int) -> bool:
    """Whether a constant is this one number."""
    known = graph.types.get(name)
    if known is None or not known.resolved or known.elements() != 1:
        return False
    value = graph.constants.value(name)
    return value is not None and value.size == 1 and bool((value == wanted).all())
