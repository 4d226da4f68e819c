"""Turns Python's garbage collector off while a model is ingested."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage_search() -> Iterator[None]:
    """Turns the search for cyclic garbage off for the length of a `with` block.

    Ingest makes many objects, keeps them, and makes no cycles: the search would find nothing, and
    take a tenth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
