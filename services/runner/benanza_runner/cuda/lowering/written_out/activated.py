"""Products with an activation in one operator of ONNX Runtime: FusedConv and FusedGemm.

Sources: the operators' definitions in ONNX Runtime, and what its optimisers write.
"""

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import AttributeValue, Operator

_ACTIVATIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "Clip": (6, ("min", "max")),
    "Elu": (6, ("alpha",)),
    "HardSigmoid": (6, ("alpha", "beta")),
    "HardSwish": (14, ()),
    "LeakyRelu": (16, ("alpha",)),
    "Relu": (14, ()),
    "Selu": (6, ("alpha", "gamma")),
    "Sigmoid": (13, ()),
    "Softplus": (1, ()),
    "Tanh": (13, ()),
}
"""The version that each is written in, and the names of its numbers, in their order."""

_PREFIX = "activation"


def convolution(writing: Writing, operator: Operator) -> None:
    """`FusedConv`: a Conv, a sum with the fourth input, and an activation, each of which may lack.

    Raises `UnsupportedError`.
    """
    result = operator.outputs[0]
    sums, last = given(operator, 3), operator.text(_PREFIX, "")
    inputs = operator.inputs[: 3 if given(operator, 2) else 2]
    place = None if sums or last else result
    made = writing.add("Conv", 11, inputs, place, writing.shape(result), **_own(operator))
    if sums:
        made = writing.add("Add", 14, (made, operator.inputs[3]), None if last else result)
    if last:
        _activate(writing, operator, made)


def gemm(writing: Writing, operator: Operator) -> None:
    """`FusedGemm`: a Gemm and an activation. Raises `UnsupportedError`."""
    shape, own = writing.shape(operator.outputs[0]), _own(operator)
    made = writing.add("Gemm", 13, operator.inputs, None, shape, **own)
    _activate(writing, operator, made)


def _activate(writing: Writing, operator: Operator, value: int) -> None:
    """Writes the activation of a value; its numbers are in a list, or have names of their own."""
    name = operator.text(_PREFIX, "")
    if name not in _ACTIVATIONS:
        raise UnsupportedError(f"{operator.op_type} with '{name}' is not supported yet")
    version, names = _ACTIVATIONS[name]
    params = operator.attribute(f"{_PREFIX}_params")
    listed = params if isinstance(params, tuple) else ()
    numbers: dict[str, AttributeValue] = dict(zip(names, listed, strict=False))
    for each in names:
        number = operator.attribute(f"{_PREFIX}_{each}")
        if isinstance(number, (int, float)):
            numbers[each] = number
    result = operator.outputs[0]
    writing.add(name, version, (value,), result, writing.shape(result), **numbers)


def _own(operator: Operator) -> dict[str, AttributeValue]:
    """The attributes of the product itself."""
    return {a.name: a.value for a in operator.attributes if not a.name.startswith(_PREFIX)}
