"""The operators of frameworks that are known: which have a rule, and which are no layers."""

from collections.abc import Mapping

from benanza.tracing.translating.elementwise import ELEMENTWISE, OF_ONE
from benanza.tracing.translating.onnxruntime_nodes import NODES
from benanza.tracing.translating.products import PRODUCTS, Rule
from benanza.tracing.translating.rows import ROWS
from benanza.tracing.translating.serving import SERVING

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
