"""Operators that vLLM and SGLang bring, by the schemas that they register.

Sources: `csrc/torch_bindings.cpp` of https://github.com/vllm-project/vllm, and
`sgl-kernel/csrc/common_extension.cc` of https://github.com/sgl-project/sglang.
"""

from collections.abc import Mapping

from benanza.tracing.translating.products import Rule
from benanza.tracing.translating.writing import Writer, refuse


def _rms_norm(write: Writer) -> str:
    """`rms_norm(result, x, weight, epsilon)`"""
    return _normalised(write, write.tensor(1))


def _added_rms_norm(write: Writer) -> str:
    """`fused_add_rms_norm(x, residual, weight, epsilon)` also gives the sum back."""
    total = write.node("Add", write.tensor(0), write.tensor(1))
    write.returns((total,))
    return _normalised(write, total)


def _gated(write: Writer) -> str:
    """`silu_and_mul(result, x)`: the first half of each row's Swish times the second half."""
    width = write.shape(1)[-1]
    if width % 2:
        refuse("its rows have no two halves")
    first, second = (_columns(write, at, at + width // 2) for at in (0, width // 2))
    swish = write.node("Mul", first, write.node("Sigmoid", first))
    return write.node("Mul", swish, second)


def _normalised(write: Writer, values: str) -> str:
    scale = write.weight(2)
    return write.node("RMSNormalization", values, scale, axis=-1, epsilon=write.number(3))


def _columns(write: Writer, start: int, end: int) -> str:
    places = (write.constant([place], "int64") for place in (start, end, -1))
    return write.node("Slice", write.tensor(1), *places)


SERVING: Mapping[str, Rule] = {
    "_C::rms_norm": _rms_norm,
    "_C::fused_add_rms_norm": _added_rms_norm,
    "_C::silu_and_mul": _gated,
    "sgl_kernel::rmsnorm": _rms_norm,
    "sgl_kernel::fused_add_rmsnorm": _added_rms_norm,
    "sgl_kernel::silu_and_mul": _gated,
}
