"""The table of operators against the definitions of onnx and ONNX Runtime."""

from collections import Counter

import onnx.defs
import pytest

from benanza_schemas.operators.onnxruntime import own_schemas
from benanza_schemas.operators.skipped import SKIPPED
from benanza_schemas.operators.table import ROWS, TABLE, UNKNOWN, facts_of, named

DEFINED: dict[tuple[str, str], list[onnx.defs.OpSchema]] = {}
for _each in (*onnx.defs.get_all_schemas_with_history(), *own_schemas().values()):
    DEFINED.setdefault((_each.domain, _each.name), []).append(_each)


@pytest.mark.parametrize(("domain", "name"), DEFINED)
def test_each_operator_has_a_row_or_a_reason_why_not(domain: str, name: str) -> None:
    assert ((domain, name) in TABLE) != bool(SKIPPED.get((domain, name)))


def test_there_is_no_row_and_no_reason_for_what_nobody_defines() -> None:
    assert TABLE.keys() | SKIPPED.keys() == DEFINED.keys()


def test_no_operator_has_two_rows() -> None:
    count = Counter((domain, name) for domain, rows in ROWS for key in rows for name in key.split())
    assert [each for each, times in count.items() if times > 1] == []


def test_inputs_that_decide_exist() -> None:
    for key, facts in TABLE.items():
        assert max(facts.deciding, default=-1) < max(each.max_input for each in DEFINED[key]), key


def test_every_input_that_onnx_calls_a_shape_or_an_axis_decides() -> None:
    """Integers that say where or how, of operators that only some data go through."""
    telling = {"axes", "axis", "shape", "repeats", "pads", "starts", "ends", "steps", "sizes"}
    missing = {
        (s.name, i.name)
        for s in onnx.defs.get_all_schemas()
        if s.domain == ""
        for position, i in enumerate(s.inputs)
        if i.name.lower() in telling and position not in facts_of(s.name).deciding
    }
    assert missing == set()


def test_what_has_several_inputs_that_are_broadcast_says_so() -> None:
    """onnx says of each such operator that it supports NumPy's broadcasting."""
    saying = {
        name
        for (domain, name), versions in DEFINED.items()
        if any("multidirectional (i.e., Numpy-style)" in (each.doc or "") for each in versions)
        and not domain
    }
    assert saying <= named(lambda facts: facts.others == "broadcast")


def test_what_only_moves_computes_nothing() -> None:
    wrong = [key for key, facts in TABLE.items() if facts.moves and facts.flops != 0]
    assert wrong == []


def test_regions_hold_operators_of_the_standard_alone() -> None:
    assert {domain for (domain, _), facts in TABLE.items() if facts.region} == {""}


def test_of_what_has_no_row_nothing_is_known() -> None:
    assert facts_of("Nonsense", "nobody") is UNKNOWN
    assert facts_of("Relu", "com.microsoft") is UNKNOWN
    assert not UNKNOWN.costly
    assert not UNKNOWN.moves
