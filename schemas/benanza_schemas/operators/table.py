"""The table of operators: what is known of each, by domain and name.

ONNX's and ONNX Runtime's definitions say names, versions, attributes and defaults. What only one
package needs, such as an expression of C, is there, by the same names.
"""

from collections.abc import Callable, Iterator
from itertools import chain

from benanza_schemas.operators.computing import NORMALISATIONS, POOLINGS, PRODUCTS, REDUCTIONS
from benanza_schemas.operators.elementwise import ELEMENTWISE
from benanza_schemas.operators.facts import OperatorFacts, Rows
from benanza_schemas.operators.movement import MOVEMENT, VIEWS
from benanza_schemas.operators.others import CLASSICAL, OTHERS
from benanza_schemas.operators.own import IN_BLOCKS, OWN, OWN_STANDARD

ROWS: tuple[tuple[str, Rows], ...] = (
    ("", ELEMENTWISE),
    ("", MOVEMENT),
    ("", VIEWS),
    ("", REDUCTIONS),
    ("", NORMALISATIONS),
    ("", POOLINGS),
    ("", PRODUCTS),
    ("", OTHERS),
    ("", OWN_STANDARD),
    ("ai.onnx.ml", CLASSICAL),
    ("com.microsoft", OWN),
    ("com.microsoft.nchwc", IN_BLOCKS),
)
"""The parts of the table, each with its domain."""

UNKNOWN = OperatorFacts("unknown")
"""What is known of any other operator."""


def _entries(domain: str, rows: Rows) -> Iterator[tuple[tuple[str, str], OperatorFacts]]:
    for names, facts in rows.items():
        yield from (((domain, name), facts) for name in names.split())


TABLE: dict[tuple[str, str], OperatorFacts] = dict(
    chain.from_iterable(_entries(domain, rows) for domain, rows in ROWS)
)


def facts_of(op_type: str, domain: str = "") -> OperatorFacts:
    """The operator's row; `UNKNOWN` if it has none. The standard domain is empty."""
    return TABLE.get((domain, op_type), UNKNOWN)


def named(holds: Callable[[OperatorFacts], bool], domain: str = "") -> frozenset[str]:
    """The names of the operators of a domain for which something holds."""
    return frozenset(name for (of, name), facts in TABLE.items() if of == domain and holds(facts))


RESHAPING = named(lambda facts: facts.kind == "view" and facts.region == "view")
"""Operators that always are a view of their first input, with elements of the same type."""
