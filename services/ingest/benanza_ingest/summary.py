"""What is said of a model as a whole: its parameters, and what was assumed of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

from benanza_backbone.pasteable import pasteable
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.layering.packed import unpacked
from benanza_ingest.resolving.bind import Binding
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.resolving.types import TensorType
from benanza_schemas.layer import OMITTED
from benanza_schemas.operators.table import RESHAPING
from benanza_schemas.vocabulary import COPIED_STATE

_REORDERING = RESHAPING | {"Cast", "Transpose"}


def parameters(graph: Graph, layers: Sequence[ExtractedLayer]) -> int:
    """The elements of all weights, each counted once."""
    elements = {}
    for node, extracted in zip(graph.nodes, layers, strict=True):
        if extracted.layer is None or extracted.kind == "view":
            continue
        operator = extracted.layer.operators[0]
        packed = unpacked(extracted.layer, operator)
        for name, index in zip(node.inputs, operator.inputs, strict=False):
            if index != OMITTED:
                tensor = extracted.layer.tensors[index]
                if tensor.constant and tensor.value is None:
                    numbers = packed.get(index, prod(tensor.shape))
                    elements[_stored(graph, name)] = numbers
    return sum(elements.values())


def _stored(graph: Graph, name: str) -> str:
    """The weight that a constant has the elements of, in another order or form."""
    while made := graph.constants.producer(name):
        node, inputs = made
        if node.op_type not in _REORDERING or not inputs:
            break
        name = inputs[0]
    return name


def notes_on_states(
    layers: Sequence[ExtractedLayer], as_written: Sequence[ExtractedGroup]
) -> Iterator[str]:
    """How many states are in place, and why others are copied, a line each. `as_written` are the
    groups that would copy the former.
    """
    if as_written:
        states = "1 state is" if len(as_written) == 1 else f"{len(as_written):,} states are"
        first = layers[as_written[0].layers[0]]
        shown = ", which is shown as an Identity" if first.op == "Identity" else ""
        yield f"{states} in place, such as of {first.name!r}: only what is new is written{shown}"
    reasons = Counter(
        layer.reason.removeprefix(COPIED_STATE)
        for layer in layers
        if layer.reason.startswith(COPIED_STATE)
    )
    for reason, count in reasons.items():
        layers_are = "1 layer copies" if count == 1 else f"{count:,} layers copy"
        yield f"{layers_are} a state: {reason}"


def notes(graph: Graph, binding: Binding) -> Iterator[str]:
    """What was assumed, a line each."""
    if binding.assumed:
        yield binding.assumed
    for name, size in binding.implied.items():
        dim = pasteable("--dim", f"{name}=N")
        yield f"{name!r} is {size:,}, as its operators or its outputs are: give {dim} if it isn't"
    if graph.left_out:
        nodes = "1 node is" if graph.left_out == 1 else f"{graph.left_out:,} nodes are"
        yield (f"{nodes} left out, since nothing has to run for what repeats others")
    if graph.outdated:
        name, declared, known = graph.outdated[0]
        others = len(graph.outdated) - 1
        more = f", and so {'is' if others == 1 else 'are'} {others:,} more" if others else ""
        yield (
            f"{name!r} is declared as {_shape(declared)}, and by the inputs it is {_shape(known)}, "
            f"which counts{more}"
        )


def _shape(known: TensorType) -> str:
    return (
        "×".join("?" if size is None else str(size) for size in known.shape or ()) or "one number"
    )
