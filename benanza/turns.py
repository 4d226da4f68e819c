"""The functions of the Python API take turns.

The store's engine has one folder open at a time, and doesn't survive a fork.
"""

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from benanza_backbone.errors import BenanzaError

Given = ParamSpec("Given")
Result = TypeVar("Result")

# Of one thread more than once: a function may call another.
_turn = threading.RLock()
_used_in: set[int] = set()
"""The process in which a function was called: this one, or the one that it was forked from."""


def in_turn(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, which waits until no other thread is in one of these functions.

    It raises `BenanzaError` in a process that was forked after one of them was used.
    """

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        # Before the lock, which a thread that the child doesn't have may hold for ever.
        if _used_in - {os.getpid()}:
            raise BenanzaError(
                "this process was forked after Benanza had been used, which its engine doesn't "
                'survive; start processes anew: multiprocessing.get_context("spawn")'
            )
        with _turn:
            _used_in.add(os.getpid())
            return function(*args, **kwargs)

    return called
