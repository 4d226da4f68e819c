"""Kernels that `torch.compile` wrote, as operators that move the same tensors and compute as much.

A trace has the names of what such a kernel fuses, each once and not in order, and its tensors: what
it changes in place, what else it reads, then what it writes. What is written here is one way to
read and write these tensors by operators of these names, and counts as one call only. Nothing is
moved that the kernel doesn't move, so that a bound isn't too high; what a kernel writes besides its
last result, and vectors that don't fit, are left out.

Assumed is that four vectors behind a tensor normalise it, where a batch normalisation is fused; and
that a sum in a kernel behind a product or a normalisation is with another tensor, not a number.
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

_PRODUCTS = frozenset("addmm bmm convolution linear mm".split())
"""What a kernel prepares the operands of, or finishes the results of, such as by a bias."""

_MAKING_NOTHING = (
    _PRODUCTS
    | {"prims_convert_element_type"}
    | {name.removeprefix("aten::").removesuffix("_") for name in {*COPIES, *VIEWS}}
)

_OF_ATTENTION = "_scaled_dot_product"
"""Begins the names of operators that such a kernel copies operands for."""

_READING_PARTS = frozenset(("narrow", "select", "slice", "split", "unbind"))
_REPEATING = frozenset(("expand", "repeat_interleave"))

_FEW = 16
"""A tensor of so many times fewer elements than the largest may be left out."""

_PARTLY = "a kernel of torch.compile with a tensor that it reads in part, or repeats"
_NO_RESULT = "a kernel of torch.compile whose tensors don't say what it writes"


class _Kernel(NamedTuple):
    """A kernel's tensors, by the places of its inputs: `places` are those of all.

    `whole` are moved as a whole, seen in one `shape`; `small` are the others. A row has so many
    elements as the last axes, of which there are `row_axes`; none without rows.
    """

    shape: tuple[int, ...]
    places: tuple[int, ...]
    whole: tuple[int, ...]
    small: tuple[int, ...]
    row_axes: int

    @property
    def row(self) -> tuple[int, ...]:
        """The sizes of the axes of a row."""
        return self.shape[len(self.shape) - self.row_axes :]

    @property
    def writes_whole(self) -> bool:
        """Whether the last tensor is a whole one, which is what such a kernel writes."""
        return len(self.whole) > 1 and self.whole[-1] == self.places[-1]


def fused_kernel(write: Writer, *, name: str) -> str:
    """Writes a kernel of this name. Raises `UntranslatedError` if that and its tensors don't say
    what it moves.
    """
    all_fused = fused_operators(name)
    fused = [one for one in all_fused if not _makes_nothing(one)]
    behind_product = not _PRODUCTS.isdisjoint(all_fused)
    kernel = _kernel(write, name)
    of_rows = _of_rows(fused) if kernel.row_axes else ""
    computing = [one for one in fused if of_rows != _RMS or one not in _ROOT_MEAN_SQUARE]
    _refuse_unknown(computing, of_rows)
    if not (fused or behind_product):
        refuse(COPYING)
    of_row = tuple(place for place in kernel.small if _kept(write, place) == kernel.row)
    scaling = of_row[len(of_row) - _SCALING.get(of_rows, 0) :]
    _refuse_without_result(kernel, of_rows, scaling)
    vectors: tuple[int, ...] = ()
    if _BATCH_NORM not in fused:
        result = {kernel.places[-1]} if of_rows in _REDUCTIONS.values() else set()
        vectors = tuple(_fitting(write, kernel, {*scaling} | result))
    elif len(kernel.small) < _PARTS:
        # It lays out a filter, and is named for what was before its convolution.
        refuse(COPYING)
    combining = [_COMBINING[one] for one in computing if one in _COMBINING]
    if not (computing or vectors):
        refuse(COPYING)
    adds_another = combining == ["Add"] and (behind_product or _BATCH_NORM in fused)
    in_place = adds_another and len(kernel.whole) == 2 and not of_rows
    operands = [
        _normalised(write, kernel, place)
        if _BATCH_NORM in fused
        else write.tensor(place, kernel.shape)
        for place in (kernel.whole if in_place else _read(kernel))
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
    size, over_rows = prod(extents), goes_over_rows(name)
    shapes = {place: _kept(write, place) for place in places}
    # Where there is one row only, its scale has as many elements as all there is.
    whole = [p for p in places if prod(shapes[p]) == size and (not over_rows or len(shapes[p]) > 1)]
    larger = [place for place in places if prod(shapes[place]) > size]
    if not extents or not whole or not _reads_once(fused_operators(name), whole, larger):
        refuse(_PARTLY)
    seen = [shapes[place] for place in whole]
    whole = sorted((*whole, *larger))
    if len({write.stored(place) for place in whole}) > 1:
        refuse("a kernel of torch.compile that converts between types")
    small = tuple(place for place in places if place not in whole)
    if not over_rows:
        return _Kernel(seen[0], places, tuple(whole), small, 0)
    in_rows = next(
        (
            (shape, axes)
            for shape in seen
            for axes in range(1, len(shape) + 1)
            if prod(shape[-axes:]) == extents[-1]
        ),
        None,
    )
    if in_rows is None:
        refuse("a kernel of torch.compile that goes over rows of other than the last axes")
    return _Kernel(in_rows[0], places, tuple(whole), small, in_rows[1])


def _kept(write: Writer, place: int) -> tuple[int, ...]:
    """The shape of a tensor as it is stored: an axis that is repeated has a stride of 0."""
    strides = write.strides(place)
    shape = write.shape(place)
    if len(strides) != len(shape):
        return shape
    return tuple(size if stride else 1 for size, stride in zip(shape, strides, strict=True))


def _reads_once(fused: Sequence[str], whole: Sequence[int], larger: Sequence[int]) -> bool:
    """Whether of larger tensors as many elements are read as are computed: of one, whose part the
    only whole tensor is made of.
    """
    if not larger:
        return True
    takes_part = not _READING_PARTS.isdisjoint(fused) and _REPEATING.isdisjoint(fused)
    return takes_part and len(larger) == len(whole) == 1 and larger[0] < whole[0]


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
            refuse(
                f"{one} in a kernel of torch.compile has no translation to ONNX's operators here"
            )


def _refuse_without_result(kernel: _Kernel, of_rows: str, scaling: Sequence[int]) -> None:
    """Refuses a kernel of which no tensor is known to be what it writes.

    Where that isn't the last tensor, it is the first one, changed in place; or, of a reduction,
    the last one, which is small.
    """
    first, last = kernel.places[0], kernel.places[-1]
    in_place = first == kernel.whole[0]
    if of_rows in _REDUCTIONS.values():
        known = last in kernel.small
    elif of_rows:
        known = kernel.writes_whole or (in_place and last in (first, *scaling))
    else:
        known = kernel.writes_whole or in_place
    if not known:
        refuse(_NO_RESULT)


def _fitting(write: Writer, kernel: _Kernel, others: set[int]) -> Iterator[int]:
    """The small tensors that are read beside the elements of the whole ones, but for `others`."""
    for place in kernel.small:
        shape = _kept(write, place)
        if place in others:
            continue
        if _seen(shape, kernel.shape) is not None:
            yield place
        elif prod(shape) * _FEW > prod(kernel.shape):
            refuse(_PARTLY)


def _seen(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape in which a small tensor is repeated to that of the whole, if it can be."""
    if len(whole) == 4 and shape == whole[1:2]:
        return *shape, 1, 1
    behind = whole[len(whole) - len(shape) :]
    fits = len(shape) <= len(whole) and all(
        size in (1, of) for size, of in zip(shape, behind, strict=True)
    )
    return shape if fits else None


def _read(kernel: _Kernel) -> tuple[int, ...]:
    """The whole tensors but for the one that is written."""
    return kernel.whole[:-1] if kernel.writes_whole else kernel.whole


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
    stored = _kept(write, place)
    if len(stored) == 1:
        return write.weight(place, _seen(stored, kernel.shape))
    return write.tensor(place, stored)


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
    if op_type in _REDUCTIONS.values():
        axes = write.constant(range(-kernel.row_axes, 0), "int64")
        return write.node(op_type, value, axes, keepdims=1)
    if op_type in ("Softmax", "LogSoftmax"):
        if kernel.row_axes > 1:
            refuse("a kernel of torch.compile with a softmax over several axes")
        return write.node(op_type, value, axis=-1)
    dtype = write.dtype(kernel.whole[0])
    weights = [write.weight(place) for place in scaling] or [write.made_up(dtype, kernel.row)]
    return write.node(op_type, value, *weights, axis=-kernel.row_axes)
