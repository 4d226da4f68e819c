"""Masks whose elements the model fixes: one that is causal, and those that do nothing."""

from math import prod

import numpy as np

from benanza_ingest.groups.attention.movement import shape_of
from benanza_ingest.groups.attention.scores import Term, lowest
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.resolving.fold import Array


def without_known(
    wiring: Wiring, terms: tuple[Term, ...], matrix: tuple[int, int], dtype: str
) -> tuple[tuple[Term, ...], bool]:
    """The terms without a mask that is causal or does nothing, and whether one is causal.

    `matrix` are the numbers of queries and keys, `dtype` is the type of the scores. Only what all
    heads have in common, for as many queries as keys, is looked at.
    """
    if matrix[0] != matrix[1] or not all(term.name for term in terms):
        return terms, False
    # A number that isn't infinite hides nothing from a row of which something else hides the rest.
    most = lowest(dtype) / 2 if len(terms) == 1 else -np.inf
    kept, causal = list[Term](), False
    for term in terms:
        added = _added(wiring, term, matrix)
        if added is not None and _is_causal(added, most):
            causal = True
        elif added is None or added.any():
            kept.append(term)
    return tuple(kept), causal


def _added(wiring: Wiring, term: Term, matrix: tuple[int, int]) -> Array | None:
    """What a term adds to the scores of each head, if that is known."""
    shape, constants = shape_of(wiring, term.name), wiring.graph.constants
    if term.name not in constants or shape[-2:] != matrix or prod(shape) != prod(matrix):
        return None
    value = constants.value(term.name)
    if value is None:
        return None
    value = value.reshape(matrix)
    if term.chosen:
        value = np.where(value, *[0.0 if number is None else number for number in term.chosen])
    return value


def _is_causal(added: Array, most: float) -> bool:
    """Whether a query sees the keys up to its own place and no others, which get `most` or less."""
    later = np.triu(np.ones(added.shape, bool), 1)
    return bool(((added <= most) == later).all()) and not added[~later].any()
