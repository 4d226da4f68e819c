"""Elements of inputs, as they stand among the named dimensions."""

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from benanza_schemas.given_values import MOST_ELEMENTS, Element, given, is_given, read

ELEMENTS = st.lists(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    min_size=1,
    max_size=MOST_ELEMENTS,
)


@for_all(st.text(min_size=1), ELEMENTS)
def test_what_is_written_is_read(name: str, elements: list[Element]) -> None:
    ((entry, count),) = given({name: elements}).items()
    found = read(entry)
    assert found == (name, tuple(elements))
    assert list(map(type, found[1])) == list(map(type, elements))
    assert count == len(elements)
    assert is_given(entry)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("sr=16000", {"sr=16000": 1}),
        ("sr=+16_000", {"sr=16000": 1}),
        ("on=true", {"on=true": 1}),
        ("size=1e3,-2", {"size=1000.0,-2": 2}),
        ("a=b=1", {"a=b=1": 1}),
    ],
)
def test_one_value_is_written_in_one_way(text: str, entry: dict[str, int]) -> None:
    assert given(dict([read(text)])) == entry


@pytest.mark.parametrize(
    "text", ["sr", "=1", "sr=", "sr=x", "sr=1,,2", "sr=nan", "sr=inf", f"sr={'1,' * 64}1", ""]
)
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not NAME=VALUE|is no number|is not finite|may have"):
        read(text)


def test_an_input_without_elements_is_refused() -> None:
    with pytest.raises(ValueError, match="'x' has 0 values, and may have 1 to 64"):
        given({"x": []})
