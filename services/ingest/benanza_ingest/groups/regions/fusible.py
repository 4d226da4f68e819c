"""What one generated kernel can compute by index arithmetic: the operators that regions consist of.

Each element of an element-wise operator's result follows from one element of each input, each
element of a movement's result is one element of an input, each element of a reduction's result
follows from one row of its first input, and each element that a window yields from a few neighbours
in one channel. Rows of a few elements are no rows: each thread reads what it needs of them.
"""

from enum import Enum
from math import prod

import msgspec
import numpy as np

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.regions.rows import Rows, rows_of
from benanza_ingest.layering.operator_values import elements
from benanza_schemas.layer import OMITTED, Kind, Layer, Operator
from benanza_schemas.operators.movement import REPEATING
from benanza_schemas.operators.table import facts_of, named


class Role(Enum):
    """What a layer does in a region."""

    VIEW = "view"
    ELEMENTWISE = "element-wise"
    MOVEMENT = "movement"
    REDUCTION = "reduction"
    SHORT_REDUCTION = "reduction of a few elements"
    WINDOW = "window"


OF_FIRST = frozenset("BatchNormalization CastLike DequantizeLinear QuantizeLinear".split())
"""Element-wise operators whose other inputs aren't broadcast in NumPy's way."""

GATHERING = frozenset(("Gather", "GatherElements"))
"""Movements whose second inputs are indices, which may be computed."""

DECIDED_BY = {
    name: facts_of(name).deciding for name in named(lambda facts: facts.region == "movement")
} | {"Pad": (1, 3)}
"""Inputs of movements that have to be constant: else it isn't known which elements are read. The
indices of gathers may be anything, since they say how many are read.
"""

MOST_UNROLLED = 4
"""A reduction of so many elements is computed by each thread that needs it."""

MOST_NEIGHBOURS = 64
"""In a window: all are read for each element."""


class Fusible(msgspec.Struct, frozen=True):
    """A layer that a region may contain.

    `data` are the slots of inputs that are read element by element; others decide shapes and axes.
    `size` is the number of elements of the largest result. `reduction` is the number of rows and
    their length, None for others; `reads` are the rows of its first input, `writes` those of its
    result. A reduction of a few elements has only these elements in `reads`.
    """

    role: Role
    operator: Operator
    data: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    size: int
    reduction: tuple[int, int] | None = None
    reads: Rows = ()
    writes: Rows = ()


def fusible(extracted: ExtractedLayer) -> Fusible | None:
    """What a layer does in a region; None if it can't be in one."""
    layer = extracted.layer
    if layer is None or extracted.domain:
        return None
    operator = layer.operators[0]
    shapes = tuple([() if i == OMITTED else layer.tensors[i].shape for i in operator.outputs])
    role = _role(extracted.kind, layer, operator)
    if role is None or 0 in map(prod, shapes):
        return None
    data = tuple([slot for slot, i in enumerate(operator.inputs) if _is_data(layer, i)])
    candidate = Fusible(role, operator, data, shapes, max(map(prod, shapes)))
    return _with_rows(candidate, layer) if role is Role.REDUCTION else candidate


def axes_of(layer: Layer, operator: Operator, slot: int) -> tuple[int, ...] | None:
    """The axes in an attribute of that name or in the input at this slot; None if there are none
    that are known.
    """
    given = operator.attribute("axes")
    if isinstance(given, tuple):
        return tuple([axis for axis in given if isinstance(axis, int)])
    return elements(layer, operator, slot)


def _role(kind: Kind, layer: Layer, operator: Operator) -> Role | None:
    facts, one_result = facts_of(operator.op_type), len(operator.outputs) == 1
    if kind == "view":
        return Role.VIEW if facts.region in ("view", "element-wise", "movement") else None
    if operator.op_type == "Dropout":  # it draws what it drops
        return None
    match facts.region:
        case "view":  # what appends to a state copies
            return Role.MOVEMENT
        case "element-wise" if one_result:
            return Role.ELEMENTWISE
        case "movement" if _is_decided(layer, operator):
            return Role.MOVEMENT
        case "window" if facts.moves:
            return Role.WINDOW if _is_resized_by_neighbours(layer, operator) else None
        case "window" if one_result and (facts.kind == "pooling" or _is_depthwise(layer, operator)):
            return Role.WINDOW if _neighbours(layer, operator) <= MOST_NEIGHBOURS else None
        case "reduction" if one_result:
            return Role.REDUCTION
    return Role.REDUCTION if _is_of_a_vector(layer, operator) else None


def _is_of_a_vector(layer: Layer, operator: Operator) -> bool:
    """Whether it multiplies matrices with a column each, all of them computed: products and a sum
    for each row.
    """
    if operator.op_type != "MatMul":
        return False
    a, b = (layer.tensors[index] for index in operator.inputs)
    if a.constant or b.constant or len(a.shape) < 3 or "float" not in a.dtype:
        return False
    return b.shape == (*a.shape[:-2], a.shape[-1], 1) and a.shape[-1] > MOST_UNROLLED


def _is_depthwise(layer: Layer, operator: Operator) -> bool:
    """Whether it convolves each channel with a constant filter of its own."""
    if operator.op_type != "Conv":
        return False
    x, filters = (layer.tensors[index] for index in operator.inputs[:2])
    return filters.constant and filters.shape[:2] == (*x.shape[1:2], 1)


def _is_resized_by_neighbours(layer: Layer, operator: Operator) -> bool:
    """Whether a Resize repeats elements equally often, or weights those before and behind."""
    if any(_is_data(layer, index) for index in operator.inputs[1:]):
        return False
    mode = operator.attribute("mode") or "nearest"
    policy = operator.attribute("keep_aspect_ratio_policy")
    if operator.attribute("antialias") or policy not in (None, "stretch"):
        return False
    old = operator.op_type == "Upsample" or operator.version < 11
    coordinates = operator.attribute("coordinate_transformation_mode") or "half_pixel"
    rounding = operator.attribute("nearest_mode") or "round_prefer_floor"
    if mode in ("linear", "bilinear"):
        floats = "float" in layer.tensors[operator.inputs[0]].dtype
        return floats and coordinates != "tf_crop_and_resize"
    sizes = layer.tensors[operator.inputs[0]].shape, layer.tensors[operator.outputs[0]].shape
    if len(sizes[0]) != len(sizes[1]):
        return False
    whole = all(size and wanted % size == 0 for size, wanted in zip(*sizes, strict=True))
    if mode != "nearest" or not whole or not (old or (coordinates, rounding) in REPEATING):
        return False
    scales = _scales(layer, operator)
    return not scales or scales == tuple([b / a for a, b in zip(*sizes, strict=True)])


def _scales(layer: Layer, operator: Operator) -> tuple[float, ...]:
    """The factors by which a Resize resizes each axis; none if it has sizes instead."""
    given = operator.attribute("scales")
    if isinstance(given, tuple):
        return tuple([float(factor) for factor in given])
    slot = 1 if operator.op_type == "Upsample" or operator.version < 11 else 2
    if len(operator.inputs) <= slot or operator.inputs[slot] == OMITTED:
        return ()
    value = layer.tensors[operator.inputs[slot]].value
    return tuple(np.frombuffer(value, dtype="<f4").tolist()) if value else ()


def _neighbours(layer: Layer, operator: Operator) -> int:
    """The number of elements that a window yields one from."""
    if operator.op_type == "Conv":
        return prod(layer.tensors[operator.inputs[1]].shape[2:])
    sizes = operator.integers("kernel_shape")
    return prod(sizes) if sizes else MOST_NEIGHBOURS + 1


def _is_data(layer: Layer, index: int) -> bool:
    return index != OMITTED and layer.tensors[index].value is None


def _is_decided(layer: Layer, operator: Operator) -> bool:
    """Whether all that a movement depends on but the data is known."""
    if operator.op_type == "Pad" and operator.attribute("mode") not in ("constant", None):
        pads = operator.integers("pads") or elements(layer, operator, 1)
        if pads is None or min(pads, default=0) < 0:
            return False  # What is cut off and what continues it: nothing runs that.
    slots = DECIDED_BY.get(operator.op_type, ())
    given = (i for slot, i in enumerate(operator.inputs) if slot in slots and i != OMITTED)
    return all(layer.tensors[index].constant for index in given)


def _with_rows(reducer: Fusible, layer: Layer) -> Fusible | None:
    """A reduction with its rows; None if they aren't known."""
    operator = reducer.operator
    shape = layer.tensors[operator.inputs[0]].shape
    axes = _reduced(layer, operator, shape)
    if not axes or 0 in shape:
        return None
    reads = rows_of(shape, axes)
    length = prod([shape[axis] for axis in axes])
    if length <= MOST_UNROLLED and operator.op_type != "GroupNormalization":
        within = rows_of([n if axis in axes else 1 for axis, n in enumerate(shape)], axes)
        return msgspec.structs.replace(reducer, role=Role.SHORT_REDUCTION, reads=within)
    if operator.op_type == "GroupNormalization":
        groups = operator.attribute("num_groups")
        if not isinstance(groups, int) or groups < 1 or shape[1] % groups:
            return None
        split = (shape[0], groups, shape[1] // groups, *shape[2:])
        batch, group, channel, *space = rows_of(split, frozenset(range(2, len(split))))
        reads, length = (batch, group + channel, *space), prod(split[2:])
    writes = reads
    if facts_of(operator.op_type).kind in ("reduction", "pooling", "product"):
        if operator.attribute("keepdims") == 0:
            writes = tuple([digits for axis, digits in enumerate(reads) if axis not in axes])
        else:
            writes = tuple([() if axis in axes else d for axis, d in enumerate(reads)])
    rows = (prod(shape) // length, length)
    return msgspec.structs.replace(reducer, reduction=rows, reads=reads, writes=writes)


def _reduced(layer: Layer, operator: Operator, shape: tuple[int, ...]) -> frozenset[int]:
    """The axes of a reduction's rows; none if they aren't known."""
    rank = len(shape)
    if rank == 0:
        return frozenset()
    match operator.op_type:
        case "GlobalAveragePool" | "GlobalMaxPool" | "InstanceNormalization" | "GroupNormalization":
            return frozenset(range(2, rank))
        case "LayerNormalization" | "RMSNormalization":
            return frozenset(range(_axis(operator, -1, rank), rank))
        case "MatMul":
            return frozenset((rank - 1,))
        case "Softmax" | "LogSoftmax" if operator.version < 13:
            return frozenset(range(_axis(operator, 1, rank), rank))
        case "Softmax" | "LogSoftmax" | "LpNormalization":
            return frozenset((_axis(operator, -1, rank),))
    axes = axes_of(layer, operator, 1)
    if axes is None and len(operator.inputs) > 1 and operator.inputs[1] != OMITTED:
        return frozenset()
    if not axes:
        nothing = operator.attribute("noop_with_empty_axes") == 1
        return frozenset() if nothing else frozenset(range(rank))
    return frozenset([axis % rank for axis in axes])


def _axis(operator: Operator, default: int, rank: int) -> int:
    axis = operator.attribute("axis")
    return (axis if isinstance(axis, int) else default) % rank
