"""Ids follow from causes, and only from them."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.events import System, event_id, identified
from tests.schemas import samples


def test_an_event_id_does_not_change_unnoticed() -> None:
    """If this fails, everything that was ever published is published again as something new."""
    assert event_id("LayerSeen", "a", "b") == "4afcc8afb300ec84969a7e63882ac04f"


@given(st.text(), st.lists(st.text()))
def test_an_event_id_is_a_hash_of_its_causes(kind: str, causes: list[str]) -> None:
    found = event_id(kind, *causes)
    assert re.fullmatch("[0-9a-f]{32}", found)
    assert found == event_id(kind, *causes)
    assert found != event_id(kind, *causes, "one more")
    assert found != event_id(kind + "2", *causes)


def test_where_one_cause_ends_and_the_next_begins_counts() -> None:
    assert event_id("E", "ab", "c") != event_id("E", "a", "bc")
    assert event_id("E", "a", "b") != event_id("E", "b", "a")


@pytest.mark.parametrize("field", [f for f in System.__struct_fields__ if f != "system_id"])
def test_any_difference_makes_another_system(field: str) -> None:
    """A new driver is another system: what was measured with the old one says nothing of it."""
    other: object = {"threads": 64, "libraries": {"onnxruntime": "1.32.0"}}.get(field, "another")
    changed = msgspec.structs.replace(samples.SYSTEM, **{field: other})
    assert identified(changed).system_id != identified(samples.SYSTEM).system_id


def test_a_system_id_owes_nothing_to_the_id_before_or_to_order() -> None:
    one = msgspec.structs.replace(samples.SYSTEM, libraries={"a": "1", "b": "2"}, system_id="")
    other = msgspec.structs.replace(samples.SYSTEM, libraries={"b": "2", "a": "1"})
    assert identified(one) == identified(other)
    assert identified(identified(one)) == identified(one)


def test_a_system_id_does_not_change_unnoticed() -> None:
    assert identified(samples.SYSTEM).system_id == "f5a897daec8ab13608c13d4ab7e23378"
