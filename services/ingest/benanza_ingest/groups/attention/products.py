"""Products of two values, with a label for each axis: MatMul, and Einsum as far as it is one."""

from typing import NamedTuple

from benanza_ingest.groups.attention.layouts import Placed, Shape, expanded
from benanza_ingest.groups.attention.movement import shape_of
from benanza_ingest.groups.wiring import Wiring

Labels = tuple[int | str, ...]


class Contraction(NamedTuple):
    """A sum over the one label that both operands have and the result lacks.

    Labels that an operand lacks, or along which it has one element, repeat it.
    """

    operands: tuple[str, str]
    labels: tuple[Labels, Labels]
    result: Labels
    summed: int | str

    def sizes(self, wiring: Wiring) -> dict[int | str, int]:
        """The number of elements of each label."""
        counts: dict[int | str, int] = {}
        for name, labels in zip(self.operands, self.labels, strict=True):
            for label, size in zip(labels, shape_of(wiring, name), strict=True):
                counts[label] = max(size, counts.get(label, 1))
        return counts


def arranged(view: Placed, labels: Labels, wanted: Labels, shape: Shape) -> Placed:
    """A view with these labels, with those wanted instead, each of which has its size in `shape`.

    It is repeated along labels that it lacks.
    """
    axes = tuple([view.axes[labels.index(label)] if label in labels else () for label in wanted])
    return expanded(Placed(view.offset, axes), shape)


def contraction(wiring: Wiring, position: int) -> Contraction | None:
    """What a layer sums over, if it is a product of two values that are no vectors."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.kind != "compute" or layer.domain or layer.op not in ("MatMul", "Einsum"):
        return None
    if len(node.inputs) != 2:
        return None
    operands = node.inputs[0], node.inputs[1]
    ranks = [len(shape_of(wiring, name)) for name in operands]
    if min(ranks) < 2:
        return None
    if layer.op == "Einsum":
        return _einsum(operands, str(wiring.layers[position].attribute("equation")))
    # Axes before those of the matrices are counted from the last one.
    first, second = (tuple(range(-rank, -2)) for rank in ranks)
    longest = max(first, second, key=len)
    labels: tuple[Labels, Labels] = (*first, "m", "k"), (*second, "k", "n")
    return Contraction(operands, labels, (*longest, "m", "n"), "k")


def _einsum(operands: tuple[str, str], equation: str) -> Contraction | None:
    terms, arrow, result = equation.replace(" ", "").partition("->")
    first, _, second = terms.partition(",")
    names = set(first) | set(second)
    summed = names - set(result)
    once = all(len(set(term)) == len(term) for term in (first, second, result))
    if not arrow or not once or len(summed) != 1 or not all(map(str.isalpha, names)):
        return None
    (label,) = summed
    if label not in first or label not in second:
        return None
    return Contraction(operands, (tuple(first), tuple(second)), tuple(result), label)
