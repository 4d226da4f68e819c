"""Einsum, where it is a product of matrices or another order of axes."""

from collections.abc import Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Product, View
from benanza_runner.cuda.elements import FLOATS, element
from benanza_runner.cuda.lowering.attributes import text
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Lowering = tuple[Call, dict[str, Array]]


def lower_einsum(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call and its operands. Raises `UnsupportedError`."""
    operator = layer.operators[0]
    equation = text(operator, "equation", "").replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if not arrow or "." in equation or any(len(set(t)) != len(t) for t in (*terms, output)):
        raise UnsupportedError(f"the Einsum {equation} is not done yet")
    if len(terms) == 1 and set(terms[0]) == set(output):
        return _transposed(layer, values, terms[0], output)
    if len(terms) != 2:
        raise UnsupportedError(f"the Einsum {equation} is no product of two matrices")
    return _product(layer, values, (terms[0], terms[1]), output)


def _transposed(layer: Layer, values: Mapping[int, Array], term: str, output: str) -> Lowering:
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    rank = len(term)
    call = View(
        input=x.shape,
        starts=(None,) * rank,
        stops=(None,) * rank,
        steps=(1,) * rank,
        order=tuple(term.index(letter) for letter in output),
        output=layer.tensors[operator.outputs[0]].shape,
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _product(
    layer: Layer, values: Mapping[int, Array], terms: tuple[str, str], output: str
) -> Lowering:
    """Axes that both have and the output too make pairs; the output's others are m, then n."""
    operator = layer.operators[0]
    tensors = [layer.tensors[index] for index in operator.inputs]
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        sizes.update(zip(term, tensor.shape, strict=True))
    for term, tensor in zip(terms, tensors, strict=True):
        if tensor.dtype not in FLOATS:
            raise UnsupportedError(f"Einsum with {tensor.dtype} is not done yet")
        if tensor.shape != tuple(sizes[letter] for letter in term):
            raise UnsupportedError("an Einsum that repeats an axis of one is not done yet")
    turned = bool(output) and output[-1] in terms[0] and output[-1] not in terms[1]
    order = (1, 0) if turned else (0, 1)
    a, b = (terms[which] for which in order)
    pairs = "".join(letter for letter in output if letter in a and letter in b)
    m = "".join(letter for letter in output if letter in a and letter not in b)
    n = "".join(letter for letter in output if letter in b and letter not in a)
    k = "".join(letter for letter in a if letter in b and letter not in output)
    a_orders, b_orders = (pairs + m + k, pairs + k + m), (pairs + k + n, pairs + n + k)
    if output != pairs + m + n or a not in a_orders or b not in b_orders:
        raise UnsupportedError(f"the Einsum {','.join(terms)}->{output} is not done yet")
    batch, rows, columns, inner = (
        prod(sizes[letter] for letter in part) for part in (pairs, m, n, k)
    )
    first, second = (operator.inputs[which] for which in order)
    call = Product(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        m=rows,
        n=columns,
        k=inner,
        a_transposed=a != a_orders[0],
        b_transposed=b != b_orders[0],
        b_constant=layer.tensors[second].constant,
    )
    return call, {"a": values[first], "b": values[second]}
