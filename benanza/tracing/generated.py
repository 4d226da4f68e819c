"""Kernels that `torch.compile` wrote: which operators they fuse, and what they have to move.

Inductor names a kernel by its form and by the operators that it fuses, joined by underscores, as
`triton_poi_fused_add_relu_3`; its event has the shapes and types of the tensors that it is given.
One for the CPU has a name only where `torch._inductor.config.cpp.enable_kernel_profile` is set.
Source: `torch/_inductor/codegen/triton.py` and `torch/_inductor/utils.py` of
https://github.com/pytorch/pytorch, release 2.11.
"""

import re
from collections.abc import Sequence
from math import prod

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.translating.rules import COPIES, FILLS, RULES, VIEWS
from benanza_schemas.element_types import BITS

_NAME = re.compile(r"(?:triton_(?:poi|per|red)|(?:graph_\d+_)?cpp)_fused_(.+)_\d+")

_OVER_ROWS = ("triton_per_", "triton_red_")
"""Begin the names of kernels with reductions: in one pass over a row, or in several."""

_OTHERS = frozenset(
    "_adaptive_avg_pool2d _native_batch_norm_legit _native_batch_norm_legit_no_training "
    "arange constant_pad_nd embedding index index_put "
    "lift_fresh native_group_norm native_layer_norm prims_convert_element_type select_scatter "
    "slice_scatter squeeze stack unbind upsample_bilinear2d upsample_nearest2d var_mean".split()
)
"""Operators that kernels fuse, besides those that are known otherwise."""

_NAMES = _OTHERS | {
    name.removeprefix("aten::").removesuffix("_") for name in {*RULES, *COPIES, *FILLS, *VIEWS}
}

_PARTIAL = (
    "as_strided avg_pool2d embedding gather index narrow select slice split unbind unfold upsample"
).split()
"""Parts of the names of operators that may leave out elements of a tensor."""


def fused_operators(name: str) -> tuple[str, ...]:
    """The operators in a kernel's name, none for another name. What isn't known stays together."""
    found = _NAME.fullmatch(name)
    if found is None:
        return ()
    words = found[1].split("_")
    fused: list[str] = []
    unknown: list[str] = []
    while words:
        length = _known(words)
        if length:
            fused += ["_".join(unknown)] * bool(unknown)
            fused.append("_".join(words[:length]))
            unknown = []
        else:
            unknown.append(words[0])
        words = words[length or 1 :]
    return (*fused, *(["_".join(unknown)] * bool(unknown)))


def goes_over_rows(name: str) -> bool:
    """Whether a kernel of this name reduces rows."""
    return name.startswith(_OVER_ROWS)


def moved_bytes(fused: Sequence[str], inputs: TracedInputs | None) -> int:
    """The bytes of all tensors of a kernel, each read or written once; 0 where that isn't known, or
    where one of its operators may need less. An axis that is repeated has a stride of 0.
    """
    if inputs is None or any(part in name for part in _PARTIAL for name in fused):
        return 0
    total = 0
    for number, (shape, dtype) in enumerate(zip(inputs.shapes, inputs.dtypes, strict=False)):
        if isinstance(dtype, str) and dtype in BITS:
            strides = inputs.strides[number] if number < len(inputs.strides) else ()
            sizes = [size for size in shape if isinstance(size, int)]
            kept = (size for axis, size in enumerate(sizes) if strides[axis : axis + 1] != (0,))
            total += prod(kept) * BITS[dtype] // 8
    return total


def _known(words: Sequence[str]) -> int:
    """How many words at the beginning are an operator's longest name that is known."""
    return max(
        (end for end in range(1, len(words) + 1) if "_".join(words[:end]) in _NAMES), default=0
    )
