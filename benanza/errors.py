"""Errors that say which model they are about."""

from collections.abc import Iterator
from contextlib import contextmanager

from benanza_backbone.errors import BenanzaError


@contextmanager
def about(model: str) -> Iterator[None]:
    """Puts MODEL in front of errors raised in the block that don't name it."""
    try:
        yield
    except BenanzaError as error:
        raise BenanzaError(about_model(model, str(error))) from error


def about_model(model: str, reason: str) -> str:
    """The reason with MODEL in front, unless it names it."""
    return reason if model in reason else f"{model}: {reason}"
