"""Einsums as libraries run them: with a letter for each axis, and of two operands."""

from string import ascii_letters

import numpy as np

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut

_REST = "..."

_MOST = 6
"""Of so many operands all orders of pairs are tried; an Einsum of more stays as it is."""


def einsum(writing: WritingOut, node: Node) -> bool:
    """Products of pairs, in the order that takes the fewest operations."""
    given = node.proto.attribute
    equation = next((a.s.decode() for a in given if a.name == "equation"), "").replace(" ", "")
    terms = _terms(writing, node, equation)
    operands = list(node.inputs)
    if not terms or not (_REST in equation or 2 < len(operands) <= _MOST):
        return False
    *read, result = terms
    sizes = {
        letter: size
        for term, name in zip(read, operands, strict=True)
        for letter, size in zip(term, writing.shape(name), strict=True)
    }
    pairs = _pairs(read, result, sizes)
    dtype = writing.dtype(operands[0])
    for pair in pairs[:-1]:
        of_pair = [read.pop(place) for place in pair]
        names = tuple([operands.pop(place) for place in pair])
        needed = {*result, *"".join(read)}
        term = "".join(c for c in dict.fromkeys("".join(of_pair)) if c in needed)
        shape = tuple([sizes[letter] for letter in term])
        text = f"{','.join(of_pair)}->{term}"
        operands.append(writing.add("Einsum", names, shape, dtype, equation=text))
        read.append(term)
    text = f"{','.join(read)}->{result}"
    writing.put("Einsum", tuple(operands), node.outputs, equation=text)
    return True


def _terms(writing: WritingOut, node: Node, equation: str) -> list[str]:
    """A letter for each axis of the operands and the result; nothing if that can't be said, or if
    an axis is named twice, or repeated for another operand.
    """
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != len(node.inputs):
        return []
    unused = [letter for letter in ascii_letters if letter not in equation]
    rest: tuple[int, ...] = ()
    for term, name in zip(terms, node.inputs, strict=True):
        shape, (before, _, behind) = writing.shape(name), term.partition(_REST)
        axes = shape[len(before) : len(shape) - len(behind)] if _REST in term else ()
        if axes and rest and axes != rest:
            return []
        rest = rest or axes
    letters = "".join(unused[: len(rest)])
    named = [term.replace(_REST, letters) for term in (*terms, output)]
    shapes = [writing.shape(name) for name in (*node.inputs, node.outputs[0])]
    alike = all(len(t) == len({*t}) == len(s) for t, s in zip(named, shapes, strict=True))
    sizes = {pair for t, s in zip(named, shapes, strict=True) for pair in zip(t, s, strict=False)}
    return named if alike and len(sizes) == len({letter for letter, _ in sizes}) else []


def _pairs(read: list[str], result: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """The places of the operands that are multiplied next, one after the other, the later first;
    a product goes to the end.
    """
    if len(read) < 3:
        return [tuple(range(len(read)))]
    arrays = [np.broadcast_to(np.float32(0), [sizes[c] for c in term]) for term in read]
    text = f"{','.join(read)}->{result}"
    path, _ = np.einsum_path(text, *arrays, optimize=("optimal", 2**62))
    return [tuple(sorted(places, reverse=True)) for places in path[1:]]
