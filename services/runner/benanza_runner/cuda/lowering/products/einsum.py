"""Einsum: what each axis is called, and the one that only orders axes anew."""

from collections.abc import Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, View
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

Terms = tuple[str, ...]


def terms_of(operator: Operator) -> Terms:
    """A letter for each axis: the terms of the operands, and then that of the result.

    Raises `UnsupportedError`.
    """
    equation = operator.text("equation", "").replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = (*inputs.split(","), output)
    if not arrow or "." in equation or any(len(set(term)) != len(term) for term in terms):
        raise UnsupportedError(f"the Einsum {equation} is not supported yet")
    return terms


def is_ordering(operator: Operator) -> bool:
    """Whether an Einsum has one operand, whose axes it orders anew. Raises `UnsupportedError`."""
    term, *others = terms_of(operator)
    return len(others) == 1 and set(term) == set(others[0])


def lower_ordering(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """The call and its operands, for an Einsum for which `is_ordering` holds."""
    operator = layer.operators[0]
    term, output = terms_of(operator)
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
