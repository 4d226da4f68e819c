"""What a kernel for a layer reads and writes."""

import msgspec
import pytest

from benanza_runner.submitted.signature import SignatureError, signature_of
from benanza_schemas.layer import Layer, Operator, Tensor
from tests.runner.layers import floats, gemm, relu, single, weights


def test_inputs_come_before_outputs_and_weights_have_other_names() -> None:
    signature = signature_of(gemm(2, 3, 4))
    names = [operand.name for operand in (*signature.inputs, *signature.outputs)]
    assert names == ["x0", "w1", "w2", "y3"]
    assert [operand.name for operand in signature.weights] == ["w1", "w2"]
    assert signature.c_prototypes() == (
        "void run(const float *x0, const float *w1, const float *w2, float *y3);",
        "void prepare(const float *w1, const float *w2);",
    )
    assert signature_of(relu(5)).c_prototypes() == ("void run(const float *x0, float *y1);",)


def test_constants_of_known_values_are_no_operands() -> None:
    shape = Tensor("int64", (1,), constant=True, value=b"\6" + bytes(7))
    layer = single("Reshape", 14, (floats(2, 3), shape), (floats(6),))
    assert [operand.index for operand in signature_of(layer).inputs] == [0]


def test_what_no_kernel_can_be_given_says_why() -> None:
    fixed = single("Relu", 14, (weights(4),), (floats(4),))
    with pytest.raises(SignatureError, match="it reads nothing that changes"):
        signature_of(fixed)
    text = Layer(
        (Tensor("string", (1,)), floats(1)), (Operator("Cast", "", 13, (), (0,), (1,)),), (1,)
    )
    with pytest.raises(SignatureError, match="string"):
        signature_of(text)
    packed = msgspec.structs.replace(text, tensors=(Tensor("int4", (2,)), floats(2)))
    with pytest.raises(SignatureError, match="smaller than a byte"):
        signature_of(packed)
