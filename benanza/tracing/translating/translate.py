"""Which operators of frameworks are which nodes of ONNX, and why others are none."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benanza.tracing.formats.recorded import TracedInputs, is_generated
from benanza.tracing.translating.elementwise import ELEMENTWISE, OF_ONE
from benanza.tracing.translating.onnxruntime_nodes import NODES
from benanza.tracing.translating.products import PRODUCTS, Rule
from benanza.tracing.translating.rows import ROWS
from benanza.tracing.translating.serving import SERVING
from benanza.tracing.translating.writing import UntranslatedError, Writer

RULES: Mapping[str, Rule] = {
    **ELEMENTWISE,
    **PRODUCTS,
    **ROWS,
    **SERVING,
    **NODES,
}

BY_SHAPES = frozenset(
    f"aten::{name}{ending}"
    for name in (*OF_ONE, "silu", *"add addmm bmm div linear matmul mm mul sub".split())
    for ending in ("", "_")
)
"""What the shapes of floats decide, where numbers such as the factor of a sum have their defaults.
"""

COPIES = frozenset(
    "aten::_local_scalar_dense aten::_to_copy aten::clone aten::contiguous aten::copy_ "
    "aten::repeat_interleave aten::to "
    "Cast Identity MemcpyFromHost MemcpyToHost ReorderInput ReorderOutput Reshape Transpose".split()
)
"""What copies values, or gives them another type or layout."""

FILLS = frozenset(
    "aten::arange aten::empty aten::empty_like aten::empty_strided aten::fill_ aten::full "
    "aten::normal_ aten::ones aten::uniform_ aten::zero_ aten::zeros".split()
)
"""What makes values, or room for them, of nothing."""

VIEWS = frozenset(
    "aten::_unsafe_view aten::as_strided aten::detach aten::dropout aten::expand aten::flatten "
    "aten::narrow aten::permute aten::reshape aten::select aten::slice aten::split aten::squeeze "
    "aten::t aten::transpose aten::unsqueeze aten::view".split()
)
"""What only says how a tensor is seen, or does nothing where nothing is trained."""


def translated(name: str, inputs: TracedInputs | None, prefix: str) -> Writer | str:
    """The nodes of an operator, whose names begin with `prefix`; or why there are none."""
    rule = RULES.get(name)
    if rule is None:
        return _why_not(name)
    if inputs is None:
        return "the trace lacks the shapes and types of its inputs; record it with them"
    if inputs.shapes_alone and name not in BY_SHAPES:
        return f"a report of Nsight Systems lacks the numbers and types that {name} needs"
    if inputs.shapes_alone and not any(inputs.dtypes):
        return "a report of Nsight Systems has no types; say which: --precision"
    if any(size < 0 for size in _sizes(inputs.shapes)):
        return "the trace gives an input a negative size"
    writer = Writer(prefix, inputs)
    try:
        writer.returns((rule(writer),))
    except UntranslatedError as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A trace can contradict an operator's definition in too many ways to list.
        return f"its inputs aren't those of {name}"
    return writer


def _sizes(shapes: Iterable[Any]) -> Iterator[int]:
    for shape in shapes:
        if isinstance(shape, int):
            yield shape
        else:
            yield from _sizes(shape)


def _why_not(name: str) -> str:
    if is_generated(name):
        return "a kernel that torch.compile wrote: a trace doesn't say which layers it computes"
    if name in COPIES:
        return "it copies or converts: no layer needs it"
    if name in VIEWS:
        return "it only says how a tensor is seen: no layer needs it"
    if name in FILLS:
        return "it makes values of nothing: no layer needs it"
    return f"{name} has no translation to ONNX's operators here"
