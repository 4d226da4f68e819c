"""Einsum, where it is a product of matrices or another order of axes."""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

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
        raise UnsupportedError(f"the Einsum {equation} is not supported yet")
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
    """The product. Axes of both terms and the output are the batch; its others are m, then n."""
    operator = layer.operators[0]
    tensors = [layer.tensors[index] for index in operator.inputs]
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        sizes.update(zip(term, tensor.shape, strict=True))
    for term, tensor in zip(terms, tensors, strict=True):
        if tensor.dtype not in FLOATS:
            raise UnsupportedError(f"Einsum with {tensor.dtype} is not supported yet")
        if tensor.shape != tuple(sizes[letter] for letter in term):
            raise UnsupportedError("an Einsum that repeats an axis of one is not supported yet")
    turned = bool(output) and output[-1] in terms[0] and output[-1] not in terms[1]
    order = (1, 0) if turned else (0, 1)
    # An axis of one is anywhere.
    a, b, written = (
        "".join(letter for letter in term if sizes[letter] > 1)
        for term in (terms[order[0]], terms[order[1]], output)
    )
    tried = (_contraction(a, b, written, count) for count in range(len(written) + 1))
    found = next(filter(None, tried), None)
    if found is None:
        raise UnsupportedError(f"the Einsum {','.join(terms)}->{output} is not supported yet")
    batch, rows, columns, inner, rounds = (
        prod(sizes[letter] for letter in part) for part in found.parts
    )
    first, second = (operator.inputs[which] for which in order)
    call = Product(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        m=rows,
        n=columns,
        k=inner,
        a_transposed=found.a.transposed,
        b_transposed=found.b.transposed,
        side_by_side=found.side_by_side,
        rounds=rounds,
        b_by_round=found.b_by_round,
        b_constant=layer.tensors[second].constant,
    )
    return call, {"a": values[first], "b": values[second]}


class _Placed(NamedTuple):
    transposed: bool
    side_by_side: bool


class _Contraction(NamedTuple):
    """`parts` are the axes of the batch, of m, n and k, and of the rounds."""

    parts: tuple[str, str, str, str, str]
    a: _Placed
    b: _Placed
    b_by_round: bool
    side_by_side: tuple[str, ...]


def _contraction(a: str, b: str, output: str, count: int) -> _Contraction | None:
    """The product of these axes with the first `count` axes of the result as rounds."""
    rounds = output[:count]
    b_by_round = bool(rounds) and b.startswith(rounds)
    if not a.startswith(rounds) or (not b_by_round and set(rounds) & set(b)):
        return None
    a, output = a.removeprefix(rounds), output.removeprefix(rounds)
    b = b.removeprefix(rounds) if b_by_round else b
    pairs = "".join(letter for letter in output if letter in a and letter in b)
    m = "".join(letter for letter in output if letter in a and letter not in b)
    n = "".join(letter for letter in output if letter in b and letter not in a)
    k = "".join(letter for letter in a if letter in b and letter not in output)
    of_a, of_b = _placed(a, pairs, m, k), _placed(b, pairs, k, n)
    result = _placed(output, pairs, m, n)
    if of_a is None or of_b is None or result is None or result.transposed:
        return None
    names = zip(("a", "b", "result"), (of_a, of_b, result), strict=True)
    apart = tuple([name for name, where in names if where.side_by_side])
    return _Contraction((pairs, m, n, k, rounds), of_a, of_b, b_by_round, apart)


def _placed(term: str, pairs: str, rows: str, columns: str) -> _Placed | None:
    """How the matrices of these axes lie in a term; None if no such matrices lie there."""
    orders = (
        (pairs + rows + columns, _Placed(False, False)),
        (pairs + columns + rows, _Placed(True, False)),
        (rows + pairs + columns, _Placed(False, True)),
        (columns + pairs + rows, _Placed(True, True)),
    )
    return next((placed for order, placed in orders if order == term), None)
