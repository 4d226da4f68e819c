"""Masks whose elements the model fixes: a causal one, those that do nothing, and hidden keys."""

from math import prod
from typing import NamedTuple

import numpy as np

from benanza_ingest.groups.attention.layouts import sliced
from benanza_ingest.groups.attention.movement import shape_of
from benanza_ingest.groups.attention.scores import Term, lowest
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.resolving.fold import Array


class Seen(NamedTuple):
    """What masks leave: the terms that are still needed, whether queries see no later keys, and the
    keys of which some query sees one, with all between them.
    """

    terms: tuple[Term, ...]
    causal: bool
    keys: range


def without_known(
    wiring: Wiring, terms: tuple[Term, ...], matrix: tuple[int, int], dtype: str
) -> Seen:
    """The terms without a mask that is causal or does nothing, and without keys that none sees.

    `matrix` are the numbers of queries and keys, `dtype` is the type of the scores. Only what all
    heads have in common is looked at. A step of an attention with a window has masked all keys but
    the last ones, and one to a longer buffer those that are still to come.
    """
    keys = range(matrix[1])
    if not all(term.name for term in terms):
        return Seen(terms, False, keys)
    # A number that isn't infinite hides nothing from a row of which something else hides the rest.
    most = lowest(dtype) / 2 if len(terms) == 1 else -np.inf
    known = [_added(wiring, term, matrix) for term in terms]
    if matrix[0] == matrix[1] and any(a is not None and _is_causal(a, most) for a in known):
        kept = [
            term
            for term, added in zip(terms, known, strict=True)
            if added is None or (added.any() and not _is_causal(added, most))
        ]
        return Seen(tuple(kept), True, keys)
    if not all(term.name in wiring.graph.constants for term in terms):
        return Seen(_needed(terms, known), False, keys)
    keys = _seen_keys([added for added in known if added is not None], matrix, most)
    kept = []
    for term, added in zip(terms, known, strict=True):
        if added is not None and not added[:, keys.start : keys.stop].any():
            continue  # it only hid keys that aren't read now
        view = sliced(term.view, len(term.view.axes) - 1, keys.start, len(keys), 1)
        if view is None:
            return Seen(terms, False, range(matrix[1]))
        kept.append(term._replace(view=view))
    return Seen(tuple(kept), False, keys)


def _needed(terms: tuple[Term, ...], known: list[Array | None]) -> tuple[Term, ...]:
    """The terms without those that add nothing."""
    return tuple([t for t, added in zip(terms, known, strict=True) if added is None or added.any()])


def _seen_keys(known: list[Array], matrix: tuple[int, int], most: float) -> range:
    """The keys from the first to the last that masks don't hide from all queries; all of them if
    they hide all from a query, whose softmax then is of what they add.
    """
    hidden = np.zeros(matrix, bool)
    for added in known:
        hidden |= added <= most
    if hidden.all(1).any():
        return range(matrix[1])
    (places,) = np.nonzero(~hidden.all(0))
    return range(int(places[0]), int(places[-1]) + 1)


def _added(wiring: Wiring, term: Term, matrix: tuple[int, int]) -> Array | None:
    """What a term adds to the scores of each head, if that is known, and the same for all."""
    shape, constants = shape_of(wiring, term.name), wiring.graph.constants
    if term.name not in constants or shape[-2:] != matrix:
        return None
    value = constants.value(term.name)
    if value is None or not prod(shape):
        return None
    each = value.reshape(-1, *matrix)
    if (each != each[:1]).any():
        return None
    value = each[0]
    if term.chosen:
        value = np.where(value, *[0.0 if number is None else number for number in term.chosen])
    return value


def _is_causal(added: Array, most: float) -> bool:
    """Whether a query sees the keys up to its own place and no others, which get `most` or less."""
    later = np.triu(np.ones(added.shape, bool), 1)
    return bool(((added <= most) == later).all()) and not added[~later].any()
