"""Names of dimensions that say how large they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.resolving.open_sizes.derived_sizes import derived_size
from tests.ingest.onnx_text import content, shapes

SIZES = {"past": 15, "length": 4, "s0": 7}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("past + length", 19),
        ("past+1", 16),
        ("2*s0 - 1", 13),
        ("(past + 1) // length", 4),
        ("past", None),
        ("past + other", None),
        ("past + 1.5", None),
        ("past ** length", None),
        ("past / length", None),
        ("past // (length - 4)", None),
        ("batch _size", None),
        ("?", None),
        ("", None),
        ("__import__('os').system('x') + 1", None),
        ("-past + length", None),
        ("1 + " * 100 + "1", None),
    ],
)
def test_a_name_is_an_expression_or_says_nothing(name: str, size: int | None) -> None:
    assert derived_size(name, SIZES) == size


@given(st.text())
def test_any_name_may_be_asked(name: str) -> None:
    derived_size(name, SIZES)


def mask(named: str, **dims: int) -> tuple[int, ...]:
    """The shape of a mask whose second dimension has this name, in a model of two others."""
    text = "g (float[N,past] p, float[N,length] l, float[N,TOTAL] m) => (y) { y = Relu(m) }"
    encoded = content(text.replace("TOTAL", "x" * len(named))).replace(
        b"x" * len(named), named.encode()
    )
    (layer,) = extract(encoded, dims=dims).layers
    assert layer.kind == "compute", layer.reason
    return shapes(layer)[-1]


def test_a_dimension_named_by_others_follows_from_them() -> None:
    assert mask("past + length", past=15, length=4) == (1, 19)
    assert mask("past + length", past=0, length=4) == (1, 4)
    assert mask("past + 1", past=15) == (1, 16)
    assert mask("N*length", length=4) == (1, 4)


def test_another_number_for_it_is_refused() -> None:
    assert mask("past + 1", **{"past": 15, "past + 1": 16}) == (1, 16)
    with pytest.raises(ModelError, match=r"'past \+ 1' is 16 by those .*, not 99"):
        mask("past + 1", **{"past": 15, "past + 1": 99})
    with pytest.raises(ModelError, match="is -1 by those"):
        mask("past - 16", past=15)
