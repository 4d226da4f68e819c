"""What a layer says of itself."""

import pytest

from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Tensor
from tests.schemas import samples


def test_inputs_are_what_no_operator_writes_weights_among_them() -> None:
    assert samples.CONV.inputs() == (0, 1)
    assert samples.CONV_CLIP.inputs() == (0, 1, 3)


def test_a_value_inside_is_no_input() -> None:
    chain = Layer(
        tensors=(Tensor("float32", (4,)),) * 3,
        operators=(
            Operator("Relu", "", 14, (), (1,), (2,)),
            Operator("Dropout", "", 13, (), (2, OMITTED), (0, OMITTED)),
        ),
        outputs=(0,),
    )
    assert chain.inputs() == (1,)


def test_the_title_names_the_operators_in_order() -> None:
    assert samples.CONV.title() == "Conv"
    assert samples.CONV_CLIP.title() == "Conv+Clip"


def test_layers_are_values() -> None:
    """Equal, hashable and unchangeable, so that they may be keys."""
    assert {samples.CONV: 1}[Layer(*(getattr(samples.CONV, f) for f in Layer.__struct_fields__))]
    with pytest.raises(AttributeError):
        samples.CONV.outputs = (0,)  # type: ignore[misc]  # that it can't be set is the point


ALL_KINDS = Operator(
    "Any",
    "",
    1,
    tuple(
        Attribute(name, value)
        for name, value in (
            ("axes", (1, 2)),
            ("axis", 3),
            ("empty", ()),
            ("mode", "linear"),
            ("names", ("a", "b")),
            ("scale", 0.5),
        )
    ),
    (),
    (),
)


def test_attributes_are_read_by_their_type() -> None:
    assert ALL_KINDS.attribute("axes") == (1, 2)
    assert ALL_KINDS.integer("axis") == 3
    assert (ALL_KINDS.number("scale", 1.0), ALL_KINDS.number("axis", 1.0)) == (0.5, 3.0)
    assert ALL_KINDS.text("mode", "nearest") == "linear"
    assert ALL_KINDS.integers("axes") == (1, 2)
    assert ALL_KINDS.texts("names") == ("a", "b")


def test_what_is_left_out_or_of_another_type_has_the_default() -> None:
    assert ALL_KINDS.attribute("nothing") is None
    assert (ALL_KINDS.integer("nothing", 7), ALL_KINDS.integer("mode")) == (7, 0)
    assert (ALL_KINDS.number("nothing", 0.1), ALL_KINDS.number("mode", 0.1)) == (0.1, 0.1)
    assert (ALL_KINDS.text("nothing", "x"), ALL_KINDS.text("axis", "x")) == ("x", "x")
    assert (ALL_KINDS.integers("nothing", (0,)), ALL_KINDS.integers("empty", (0,))) == ((0,), (0,))
    assert ALL_KINDS.texts("axis") == ()
