"""What the functions of the API share."""

import os
from collections.abc import Sequence
from typing import TypeVar

from benanza import arguments
from benanza.request import BoundPolicy
from benanza.results.result import Result
from benanza_schemas.given_values import Element
from benanza_schemas.layer import Accounting, Precision

Given = TypeVar("Given", bound=Result)

ModelSource = str | os.PathLike[str]
"""A path, a `file:`, `http:`, `https:` or `s3:` address, or `zoo:NAME`."""

Values = Element | Sequence[Element]
"""What an input holds: one number, `True` or `False`, or several in row-major order."""


def bound_policy(
    precision: Precision | Sequence[Precision], fusion: bool, accounting: Accounting
) -> BoundPolicy:
    """Which known bounds are meant: without a precision, those at every measured precision."""
    return BoundPolicy(
        precisions=arguments.precisions("precision", precision) if precision else (),
        fusion=arguments.switch("fusion", fusion),
        accounting=arguments.accounting_choice("accounting", accounting),
    )


def shown(result: Given) -> Given:
    """The result, of which a notebook shows a table."""
    from benanza.render.notebook import show_tables

    show_tables()
    return result
