"""Products: linear layers, products of matrices, convolutions and attention.

Sources: https://docs.pytorch.org/docs/stable/nn.functional.html, and the schemas of PyTorch's
`native_functions.yaml`.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

from benanza.tracing.translating.writing import EXCHANGED, Writer, refuse

Rule = Callable[[Writer], str]
"""Writes an operator's nodes, and says what it gives back."""


def _linear(write: Writer) -> str:
    """Two axes are a Gemm, as exporters write them; more are a product and a sum."""
    shape, (columns, rows) = write.shape(0), _matrix(write, 1)
    biased = write.has(2)
    if len(shape) == 2 and biased:
        return write.node("Gemm", write.tensor(0), write.weight(1), write.weight(2), transB=1)
    product = write.node("MatMul", write.tensor(0), write.weight(1, (rows, columns)))
    return write.node("Add", product, write.weight(2)) if biased else product


def _addmm(write: Writer) -> str:
    _matrix(write, 2)
    alpha, beta = write.number(4, 1.0), write.number(3, 1.0)
    bias = write.weight(0) if len(write.shape(0)) < 2 else write.tensor(0)
    return write.node("Gemm", write.tensor(1), write.weight(2), bias, alpha=alpha, beta=beta)


def _mm(write: Writer) -> str:
    """The second operand is taken as a weight: so linear layers call it."""
    _matrix(write, 1)
    return write.node("MatMul", write.tensor(0), write.weight(1))


def _matmul(write: Writer) -> str:
    second = write.weight(1) if len(write.shape(1)) == 2 else write.tensor(1)
    return write.node("MatMul", write.tensor(0), second)


def _bmm(write: Writer) -> str:
    return write.node("MatMul", write.tensor(0), write.tensor(1))


def _baddbmm(write: Writer) -> str:
    if (write.number(3, 1.0), write.number(4, 1.0)) != (1.0, 1.0):
        refuse("scaled sums of products aren't translated")
    return write.node(
        "Add", write.node("MatMul", write.tensor(1), write.tensor(2)), write.tensor(0)
    )


def _convolution(write: Writer) -> str:
    """`convolution(x, weight, bias, stride, padding, dilation, transposed, padding_of_output,
    groups)`
    """
    shape = write.shape(1)
    axes = len(shape) - 2
    strides, pads, dilations = (_each(write, place, axes) for place in (3, 4, 5))
    operands = [write.tensor(0), write.weight(1)]
    if write.has(2):
        operands.append(write.weight(2))
    written = partial(
        write.node,
        "ConvTranspose" if write.flag(6) else "Conv",
        *operands,
        dilations=dilations,
        group=write.integer(8, 1),
        kernel_shape=shape[2:],
        pads=pads * 2,
        strides=strides,
    )
    return written(output_padding=_each(write, 7, axes)) if write.flag(6) else written()


def _attention(write: Writer, *, mask: int | None, causal: int, scale: int) -> str:
    """Queries, keys and values by head. `mask`, `causal` and `scale` are the places of these.

    What lies in memory by place is read there, as exporters write it, and the result is written as
    the queries are.
    """
    shape = write.shape(0)
    if len(shape) != 4:
        refuse("attention is translated with four axes only")
    by_place = [_lies_by_place(write, number) for number in range(3)]
    operands = [
        write.exchanged(number) if exchanged else write.tensor(number)
        for number, exchanged in enumerate(by_place)
    ]
    if mask is not None and write.has(mask):
        operands.append(write.tensor(mask))
    usual = 1 / math.sqrt(shape[-1]) if shape[-1] else 1.0
    factor = write.number(scale, usual)
    scaled = {} if math.isclose(factor, usual, rel_tol=1e-6) else {"scale": factor}
    result = write.node("Attention", *operands, is_causal=int(write.flag(causal)), **scaled)
    return write.node("Transpose", result, perm=EXCHANGED) if by_place[0] else result


def _lies_by_place(write: Writer, number: int) -> bool:
    """Whether all heads of a place lie before those of the next one."""
    shape, strides = write.shape(number), write.strides(number)
    return len(shape) == len(strides) == 4 and 1 not in shape[1:3] and strides[1] < strides[2]


def _each(write: Writer, number: int, axes: int) -> tuple[int, ...]:
    """A number for each axis, of a list that may have one for all."""
    given = write.integers(number)
    if len(given) not in (1, axes):
        refuse("the trace lacks the strides of a window; record it with shapes")
    return given * axes if len(given) == 1 else given


def _matrix(write: Writer, number: int) -> tuple[int, int]:
    shape = write.shape(number)
    if len(shape) != 2:
        refuse("a weight is no matrix")
    return shape[0], shape[1]


PRODUCTS: Mapping[str, Rule] = {
    "aten::linear": _linear,
    "aten::addmm": _addmm,
    "aten::mm": _mm,
    "aten::matmul": _matmul,
    "aten::bmm": _bmm,
    "aten::baddbmm": _baddbmm,
    "aten::convolution": _convolution,
    "aten::scaled_dot_product_attention": partial(_attention, mask=3, causal=5, scale=6),
    "aten::_scaled_dot_product_flash_attention": partial(_attention, mask=None, causal=4, scale=6),
    "aten::_scaled_dot_product_flash_attention_for_cpu": partial(
        _attention, mask=5, causal=4, scale=6
    ),
    "aten::_scaled_dot_product_efficient_attention": partial(_attention, mask=3, causal=6, scale=7),
    "aten::_scaled_dot_product_cudnn_attention": partial(_attention, mask=3, causal=6, scale=8),
}
