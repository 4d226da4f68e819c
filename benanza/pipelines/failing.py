"""What fails: one sample, which is counted; or a package that isn't installed."""

from importlib import import_module
from typing import Any

from benanza_backbone.errors import BenanzaError

EXTRA = "evaluate"


class FailedSampleError(Exception):
    """Why one sample can't be evaluated. It counts as wrong, and the others go on."""


def needed(module: str, package: str, extra: str = EXTRA) -> Any:
    """A module of a package of an extra. Raises `BenanzaError` if it isn't installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise BenanzaError(
            f"{package} can't be loaded ({error}); say: pip install 'benanza[{extra}]'"
        ) from error
