"""An input whose elements a user gives is a constant."""

import pytest

from benanza_ingest.core import model_id
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_schemas.given_values import given, read
from tests.ingest.onnx_text import extracted, kinds, proto, shapes

TWO_RATES = (
    "g (float[N,4] x, TYPE sr) => (y) <TYPE fast = {16}> { c = Equal(sr, fast) d = Squeeze(c)"
    " y = If (d) <then_branch = t () => (a) { a = Relu(x) },"
    " else_branch = e () => (b) { q = Relu(x) b = Exp(q) }> }"
)


def with_values(text: str, *values: str, **dims: int) -> ExtractedModel:
    return extracted(text, dims=dims | given(dict(map(read, values))))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float", "double", "int64[1]"])
def test_a_value_decides_the_branch(dtype: str) -> None:
    text = TWO_RATES.replace("TYPE", dtype)
    assert [layer.op for layer in with_values(text, "sr=16").layers] == ["Relu"]
    assert [layer.op for layer in with_values(text, "sr=8").layers] == ["Relu", "Exp"]


def test_two_values_give_two_models() -> None:
    text = TWO_RATES.replace("TYPE", "int64")
    ids = {
        model_id("0" * 64, found.batch, found.dims)
        for found in (with_values(text, "sr=16"), with_values(text, "sr=8"), extracted(text))
    }
    assert len(ids) == 3
    assert with_values(text, "sr=16").dims == {"sr=16": 1}


@pytest.mark.parametrize(("value", "ops"), [("true", ["Relu"]), ("0", ["Relu", "Exp"])])
def test_a_switch_is_true_or_false(value: str, ops: list[str]) -> None:
    text = TWO_RATES.replace("TYPE", "bool").replace("{16}", "{1}")
    assert [layer.op for layer in with_values(text, f"sr={value}").layers] == ops


def test_several_elements_fill_the_shape() -> None:
    """As the size to which a model scales its masks."""
    text = "g (float[1,1,4,4] x, float[1,4] s) => (y) { r = Reshape(s, k) y = Resize(x, , r) }"
    text = text.replace("{ r =", "<int64[1] k = {4}> { r =")
    found = with_values(text, "s=1,1,2.5,2")
    assert shapes(found.layers[-1])[-1] == (1, 1, 10, 8)
    open_axis = "g (float[6] x, int64[n] s) => (y) { r = Reshape(x, s) y = Relu(r) }"
    assert shapes(with_values(open_axis, "s=3,2").layers[-1]) == [(3, 2), (3, 2)]


def test_a_value_is_read_with_a_batch_size_that_the_model_does_not_have() -> None:
    text = TWO_RATES.replace("TYPE", "int64").replace("[N,4]", "[1,4]")
    found = extracted(text, batch=3, dims={"sr=16": 1})
    assert (kinds(found), found.batch) == ([("Relu", "compute")], 3)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"s=16": 1},
            "has no input 's' to give a value; did you mean 'sr'? it has 'x', 'sr'",
        ),
        ({"sr=16,17": 2}, "the input 'sr' has the shape [], and was given 2 of its values"),
        ({"sr=16": 2}, "the size of 'sr=16' is 2: give the number of its values"),
        ({"sr=1.5": 1}, "the input 'sr' (int8) can't be 1.5; give a whole number from -128 to 127"),
        ({"sr=128": 1}, "(int8) can't be 128"),
        ({"sr=": 1}, "'' is no number, nor true or false; give an input's elements as --value"),
        ({"z=1": 1}, "the input 'z' is no tensor of numbers"),
        ({"f=2": 1}, "the input 'f' (bool) can't be 2; give true or false"),
        ({"o=1": 1}, "the input 'o' has the shape [?, ?], and was given 1 of its values"),
        ({"sr=1": 1, "sr=2": 1}, "the input 'sr' is given several times; give it one value"),
    ],
)
def test_what_an_input_cannot_be_is_refused_in_one_line(values: dict[str, int], said: str) -> None:
    text = "g (float[2] x, int8 sr, string z, bool f, int64[?,?] o) => (y) { y = Relu(x) }"
    with pytest.raises(ModelError) as raised:
        extracted(text, dims=values)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_dimension_with_such_a_name_is_a_dimension() -> None:
    model = proto("g (float[2,open] x) => (y) { y = Relu(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "x=1"
    (layer,) = extract(model.SerializeToString(), dims={"x=1": 3}).layers
    assert shapes(layer) == [(2, 3), (2, 3)]


def test_who_takes_an_input_for_a_dimension_is_told() -> None:
    with pytest.raises(ModelError, match="did you mean --value sr=16"):
        extracted(TWO_RATES.replace("TYPE", "int64"), dims={"sr": 16})
