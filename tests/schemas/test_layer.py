"""What a layer says of itself."""

import pytest

from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor
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
