"""Operations of an Einsum."""

import string
from collections.abc import Sequence
from math import prod

import numpy as np

Shape = tuple[int, ...]

_FEW = 6
"""Of so many operands all orders are tried; of more, the next best pair is taken."""


def einsum_flops(equation: str, shapes: Sequence[Shape]) -> int:
    """Two for each combination of the indices of a pair of operands, or one where no index is
    summed, by the order of pairs that takes the fewest; one for each combination of one operand
    alone.
    """
    terms, sizes = _terms(equation, shapes)
    *operands, result = terms
    if len(operands) == 1:
        return prod(sizes[letter] for letter in set(operands[0]))
    return _of_pairs(operands, result, sizes)


def least_einsum_flops(equation: str, shapes: Sequence[Shape]) -> int:
    """The fewest operations of its products: what only one operand has, and the result doesn't, is
    summed before. Zero for one operand, which is no product, and for more operands than `_FEW`,
    whose best order isn't known.
    """
    terms, sizes = _terms(equation, shapes)
    *operands, result = terms
    if not 1 < len(operands) <= _FEW:
        return 0
    needed = [
        "".join(
            letter
            for letter in dict.fromkeys(term)
            if letter in result or any(letter in o for n, o in enumerate(operands) if n != place)
        )
        for place, term in enumerate(operands)
    ]
    return _of_pairs(needed, result, sizes)


def _of_pairs(operands: list[str], result: str, sizes: dict[str, int]) -> int:
    order = "optimal" if len(operands) <= _FEW else "greedy"
    arrays = [np.broadcast_to(np.float32(0), [sizes[c] for c in term]) for term in operands]
    text = f"{','.join(operands)}->{result}"
    path, _ = np.einsum_path(text, *arrays, optimize=(order, 2**62))
    return _along(path[1:], operands, result, sizes)


def _along(
    path: Sequence[tuple[int, ...]], operands: list[str], result: str, sizes: dict[str, int]
) -> int:
    total = 0
    for places in path:
        chosen = [operands.pop(place) for place in sorted(places, reverse=True)]
        letters = set("".join(chosen))
        kept = letters & {*"".join(operands), *result}
        operations = len(chosen) - 1 + (kept != letters)
        total += operations * prod(sizes[letter] for letter in letters)
        operands.append("".join(sorted(kept)))
    return total


def _terms(equation: str, shapes: Sequence[Shape]) -> tuple[list[str], dict[str, int]]:
    """The operands' indices and those of the result, with letters in place of `...`."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    given = left.split(",")
    free = [c for c in string.ascii_letters if c not in equation]
    sizes: dict[str, int] = {}
    ranks = [
        len(shape) - len(term.replace("...", ""))
        for term, shape in zip(given, shapes, strict=True)
        if "..." in term
    ]
    widest = max(ranks, default=0)
    outer = "".join(free[:widest])
    terms = []
    for term, shape in zip(given, shapes, strict=True):
        count = len(shape) - len(term.replace("...", ""))
        letters = term.replace("...", outer[widest - count :])
        for letter, size in zip(letters, shape, strict=True):
            sizes[letter] = sizes.get(letter, 1) if size == 1 else size
        terms.append(letters)
    if not arrow:
        once = sorted(c for c in set("".join(given)) - {"."} if "".join(given).count(c) == 1)
        result = "..." * ("..." in left) + "".join(once)
    return [*terms, result.replace("...", outer)], sizes
