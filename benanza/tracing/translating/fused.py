"""Kernels that `torch.compile` wrote, as operators that move the same tensors and compute as much.

A trace has the names of what such a kernel fuses, each once and not in order, and its tensors: what
it reads, then what it writes, and first of all what it changes in place. What is written here is
one way to read and write these tensors by operators of these names, and counts as one call only.
Its time is the kernel's as far as that depends on what is moved, which it mostly does.

Assumed is that four vectors behind a tensor normalise it, where a batch normalisation is fused;
that a kernel with two tensors and only a sum adds them in place; and that any other one writes the
last of its largest tensors, if that is its last one. Vectors that don't fit are left out, and so is
what is written besides.
Source: `torch/_inductor/codegen/triton.py` of https://github.com/pytorch/pytorch, release 2.11.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from benanza.tracing.generated import fused_operators, goes_over_rows
from benanza.tracing.translating.elementwise import OF_ONE, OF_TWO
from benanza.tracing.translating.rules import COPIES, VIEWS
from benanza.tracing.translating.writing import COPYING, Writer, refuse

_BATCH_NORM = "_native_batch_norm_legit_no_training"
_PARTS = 4

_COMBINING = {name: OF_TWO[name] for name in ("add", "div", "maximum", "minimum", "mul", "sub")}

_REDUCTIONS = {"amax": "ReduceMax", "amin": "ReduceMin", "mean": "ReduceMean", "sum": "ReduceSum"}

_OF_ROWS = {
    "_log_softmax": "LogSoftmax",
    "_softmax": "Softmax",
    "native_layer_norm": "LayerNormalization",
    **_REDUCTIONS,
}

_ROOT_MEAN_SQUARE = frozenset(("mean", "pow", "rsqrt"))
_RMS = "RMSNormalization"

_SCALING = {"LayerNormalization": 2, _RMS: 1}
"""How many vectors scale and shift a row."""

_MAKING_NOTHING = frozenset(
    "addmm bmm convolution linear mm prims_convert_element_type".split()
) | {name.removeprefix("aten::").removesuffix("_") for name in {*COPIES, *VIEWS}}
"""Views and copies; and products, whose operands and results a kernel prepares and finishes."""

_OF_ATTENTION = "_scaled_dot_product"
"""Begins the names of operators that such a kernel copies operands for."""

_READING_PARTS = frozenset(("narrow", "select", "slice", "split", "unbind"))

_FEW = 16
"""A tensor of so many times fewer elements than the largest may be left out."""


class _Kernel(NamedTuple):
    """A kernel's tensors, by the places of its inputs.

    `whole` are moved as a whole, seen in one `shape`; `small` are the others. A row has so many
    elements as the last axes, of which there are `row_axes`; none without rows.
    """

    shape: tuple[int, ...]
    whole: tuple[int, ...]
    small: tuple[int, ...]
    row_axes: int
    last: int


def fused_kernel(write: Writer, *, name: str) -> str:
    """Writes a kernel of this name. Raises `UntranslatedError` if that and its tensors don't say
    what it moves.
    """
    fused = [one for one in fused_operators(name) if not _makes_nothing(one)]
    kernel = _kernel(write, name)
    of_rows = _of_rows(fused) if kernel.row_axes else ""
    computing = [one for one in fused if of_rows != _RMS or one not in _ROOT_MEAN_SQUARE]
    _refuse_unknown(computing, of_rows)
    if _BATCH_NORM in fused:
        if len(kernel.small) < _PARTS:
            # It lays out a filter, and is named for what was before its convolution.
            refuse(COPYING)
        scaling, vectors = (), ()
    else:
        row = kernel.shape[len(kernel.shape) - kernel.row_axes :]
        of_row = tuple(place for place in kernel.small if write.shape(place) == row)
        scaling = of_row[len(of_row) - _SCALING.get(of_rows, 0) :]
        result = {kernel.last} if of_rows in _REDUCTIONS.values() else set()
        vectors = tuple(_fitting(write, kernel, {*scaling} | result))
    combining = [_COMBINING[one] for one in computing if one in _COMBINING]
    operands = [
        _normalised(write, kernel, place)
        if _BATCH_NORM in fused
        else write.tensor(place, kernel.shape)
        for place in _operands(kernel, of_rows, combining, vectors)
    ]
    value = _combined(write, operands + [_vector(write, kernel, p) for p in vectors], combining)
    value = _bent(write, value, computing)
    if of_rows:
        value = _over_rows(write, kernel, value, of_rows, scaling)
    if not write.nodes and combining:
        value = write.node(combining[0], value, write.constant(0.5, write.dtype(kernel.whole[0])))
    if not write.nodes:
        refuse(COPYING)
    return value


def _makes_nothing(name: str) -> bool:
    return name in _MAKING_NOTHING or name.startswith(_OF_ATTENTION)


def _kernel(write: Writer, name: str) -> _Kernel:
    places = tuple(write.numbers())
    extents = [write.integer(place, 1) for place in write.others()]
    size = prod(extents)
    parts = _READING_PARTS.intersection(fused_operators(name))
    whole = tuple(
        p for p in places if _is_whole(prod(write.shape(p)), size, reads_parts=bool(parts))
    )
    shapes = [write.shape(place) for place in whole if prod(write.shape(place)) == size]
    if not extents or not shapes:
        refuse("a kernel of torch.compile with a tensor that it reads in part, or repeats")
    if len({write.stored(place) for place in whole}) > 1:
        refuse("a kernel of torch.compile that converts between types")
    small = tuple(place for place in places if place not in whole)
    if not goes_over_rows(name):
        return _Kernel(shapes[0], whole, small, 0, places[-1])
    in_rows = next(
        (
            (shape, axes)
            for shape in shapes
            for axes in range(1, len(shape) + 1)
            if prod(shape[-axes:]) == extents[-1]
        ),
        None,
    )
    if in_rows is None:
        refuse("a kernel of torch.compile that goes over rows of other than the last axes")
    return _Kernel(in_rows[0], whole, small, in_rows[1], places[-1])


def _is_whole(elements: int, size: int, *, reads_parts: bool) -> bool:
    return elements == size or (reads_parts and elements > size)


def _of_rows(fused: Sequence[str]) -> str:
    """The operator that goes over rows."""
    if _ROOT_MEAN_SQUARE.issubset(fused):
        return _RMS
    found = [_OF_ROWS[one] for one in fused if one in _OF_ROWS]
    if len(found) != 1:
        refuse("a kernel of torch.compile whose name doesn't say what it does with rows")
    return found[0]


def _refuse_unknown(computing: Sequence[str], of_rows: str) -> None:
    known = {*OF_ONE, *_COMBINING, "pow", "rsqrt", "silu", _BATCH_NORM}
    known |= {*_OF_ROWS} if of_rows else set()
    for one in computing:
        if one not in known:
            refuse(f"a kernel of torch.compile with {one}, which may read other elements")


def _fitting(write: Writer, kernel: _Kernel, others: set[int]) -> Iterator[int]:
    """The small tensors that are read beside the elements of the whole ones, but for `others`."""
    for place in kernel.small:
        shape = write.shape(place)
        if place in others:
            continue
        if _seen(shape, kernel.shape) is not None:
            yield place
        elif prod(shape) * _FEW > prod(kernel.shape):
            refuse("a kernel of torch.compile with a tensor that it reads in part, or repeats")


def _seen(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape in which a small tensor is repeated to that of the whole, if it can be."""
    if len(whole) == 4 and shape == whole[1:2]:
        return *shape, 1, 1
    behind = whole[len(whole) - len(shape) :]
    fits = len(shape) <= len(whole) and all(
        size in (1, of) for size, of in zip(shape, behind, strict=True)
    )
    return shape if fits else None


def _operands(
    kernel: _Kernel, of_rows: str, combining: Sequence[str], vectors: Sequence[int]
) -> tuple[int, ...]:
    """The places of the whole tensors that are read."""
    whole = kernel.whole
    if whole[-1] != kernel.last or len(whole) == 1:
        return whole  # The first is changed in place, or the result is small.
    if len(whole) == 2 and not (vectors or of_rows) and [*combining] == ["Add"]:
        return whole
    return whole[:-1]


def _normalised(write: Writer, kernel: _Kernel, place: int) -> str:
    """A tensor, normalised by four vectors where they are behind it."""
    value = write.tensor(place, kernel.shape)
    parts = range(place + 1, place + 1 + _PARTS)
    if not {*parts} <= {*kernel.small}:
        return value
    channels = kernel.shape[1:2]
    vectors = (write.weight(part, channels) for part in parts)
    return write.node("BatchNormalization", value, *vectors, momentum=0.0)


def _vector(write: Writer, kernel: _Kernel, place: int) -> str:
    """A small tensor: one of one axis is a weight."""
    seen = _seen(write.shape(place), kernel.shape)
    if len(write.shape(place)) == 1:
        return write.weight(place, seen)
    return write.tensor(place)


def _combined(write: Writer, operands: Sequence[str], combining: Sequence[str]) -> str:
    value, *others = operands
    for number, other in enumerate(others):
        op_type = combining[number % len(combining)] if combining else "Add"
        value = write.node(op_type, value, other)
    return value


def _bent(write: Writer, value: str, computing: Sequence[str]) -> str:
    """The value after all functions of one operand."""
    for one in computing:
        match one:
            case "silu":
                value = write.node("Mul", value, write.node("Sigmoid", value))
            case "pow":
                value = write.node("Mul", value, value)
            case "rsqrt":
                value = write.node("Reciprocal", write.node("Sqrt", value))
            case _ if one in OF_ONE:
                value = write.node(OF_ONE[one], value)
    return value


def _over_rows(
    write: Writer, kernel: _Kernel, value: str, op_type: str, scaling: Sequence[int]
) -> str:
    row, dtype = kernel.shape[-kernel.row_axes :], write.dtype(kernel.whole[0])
    if op_type in _REDUCTIONS.values():
        axes = write.constant(range(-kernel.row_axes, 0), "int64")
        return write.node(op_type, value, axes, keepdims=1)
    if op_type in ("Softmax", "LogSoftmax"):
        if kernel.row_axes > 1:
            refuse("a kernel of torch.compile with a softmax over several axes")
        return write.node(op_type, value, axis=-1)
    weights = [write.weight(place) for place in scaling] or [write.made_up(dtype, row)]
    return write.node(op_type, value, *weights, axis=-kernel.row_axes)
