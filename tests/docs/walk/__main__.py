"""The whole walk, from a machine without Benanza; it needs what CONTRIBUTING.md lists for tests."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.docs.walk.clone import FreshClone
from tests.docs.walk.deployment import deployment
from tests.docs.walk.first_bounds import demo, tutorial
from tests.docs.walk.services import restore

T = TypeVar("T")


def main() -> None:
    """Says how long each part took."""
    with tempfile.TemporaryDirectory() as folder:
        clone = FreshClone(Path(folder), installed=False)
        _timed("bounds and a report", lambda: demo(clone))
        _timed("the tutorial", lambda: tutorial(clone))
        bounds = _timed("the services", lambda: deployment(clone))
        _timed("a restored backup", lambda: restore(clone, bounds))


def _timed(name: str, part: Callable[[], T]) -> T:
    began = time.monotonic()
    done = part()
    sys.stdout.write(f"{name}: {time.monotonic() - began:.0f} s\n")
    sys.stdout.flush()
    return done


if __name__ == "__main__":
    main()
