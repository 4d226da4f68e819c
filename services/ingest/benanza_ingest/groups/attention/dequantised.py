"""Attention whose keys and values are kept in 8 bits, and dequantised before it.

A kernel reads what is kept, and makes floats of it in registers. So there is a further group of
such an attention, with both DequantizeLinear in front of its layer.
"""

from math import prod

from msgspec.structs import replace

from benanza_ingest.groups.attention.movement import dtype_of
from benanza_ingest.groups.attention.normal_form import Form
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.resolving.operators import attributes, since_version
from benanza_schemas.layer import OMITTED, Operator

DEQUANTISES = "DequantizeLinear"

CODES = frozenset(("int8", "float8e4m3fn"))
"""The types of what is kept."""


def dequantising(wiring: Wiring, names: tuple[str, ...], members: set[int]) -> tuple[int, ...]:
    """The layers that dequantise these values, each for these members alone; none if any of the
    values isn't made so.
    """
    found = []
    for name in names:
        if not is_dequantised(wiring, name) or not members.issuperset(wiring.readers[name]):
            return ()
        found.append(wiring.writers[name])
    return tuple(found) if len(set(found)) == len(found) else ()


def is_dequantised(wiring: Wiring, name: str) -> bool:
    """Whether a value is written by a DequantizeLinear of what is computed or given, with one fixed
    scale.
    """
    position = wiring.writers.get(name)
    if position is None:
        return False
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.op != DEQUANTISES or layer.domain or layer.layer is None:
        return False
    codes, scale, *_ = layer.layer.operators[0].inputs
    fixed = all(name in wiring.graph.constants for name in filter(None, node.inputs[1:]))
    tensors = layer.layer.tensors
    if node.inputs[0] in wiring.graph.constants or tensors[codes].dtype not in CODES:
        return False
    return fixed and prod(tensors[scale].shape) == 1 and dtype_of(wiring, node.inputs[0]) in CODES


def with_codes(
    wiring: Wiring, form: Form, names: tuple[str, ...], positions: tuple[int, ...]
) -> tuple[Form, tuple[str, ...]]:
    """The form that reads what these layers dequantise, and the model's names of its tensors.

    Those that the attention reads are no inputs any more, though they stay where they were. What
    dequantises them gets the version of the form's opset, in which it means the same.
    """
    version = since_version(DEQUANTISES, "", form.opset)
    assert version is not None, "these opsets have it"
    tensors, known, operators = list(form.layer.tensors), list(names), list[Operator]()
    for position in positions:
        alone, node = wiring.layers[position].layer, wiring.node(position)
        assert alone is not None, "it is known what it dequantises"
        (operator,) = alone.operators
        places = {operator.outputs[0]: names.index(node.outputs[0])}
        for index, name in zip(operator.inputs, node.inputs, strict=False):
            if index != OMITTED and index not in places:
                places[index] = len(tensors)
                tensors.append(alone.tensors[index])
                known.append(name)
        operators.append(
            replace(
                operator,
                version=version,
                attributes=attributes(DEQUANTISES, "", version, operator.attributes, None),
                inputs=tuple([places.get(index, OMITTED) for index in operator.inputs]),
                outputs=(places[operator.outputs[0]],),
            )
        )
    layer = replace(
        form.layer, tensors=tuple(tensors), operators=(*operators, *form.layer.operators)
    )
    return form._replace(layer=layer), tuple(known)
