"""Finds what can't be stored in a batch, so that the rest is."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def refused(
    items: Sequence[T], store: Callable[[Sequence[T]], None], error: type[E]
) -> list[tuple[T, E]]:
    """Stores the items; returns those that alone make `store` raise `error`, each with it.

    A batch that is refused is tried again in halves: of n items, one that can't be stored costs
    about 2 log2(n) tries more. What was stored may be stored again. Other errors go through.
    """
    try:
        store(items)
    except error as reason:
        if len(items) == 1:
            return [(items[0], reason)]
        middle = len(items) // 2
        halves = items[:middle], items[middle:]
        return [refusal for half in halves for refusal in refused(half, store, error)]
    return []
