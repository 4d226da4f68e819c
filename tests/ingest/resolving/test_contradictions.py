"""Constants that contradict the numbers of open dimensions are an error."""

import pytest

from benanza_ingest.errors import ModelError
from tests.ingest.onnx_text import extracted

CONTRADICTIONS = {
    "a shape with the batch that it had": (
        "g (float[N,4,6] x) => (y) <int64[2] s = {1,24}> { a = Reshape(x,s) y = Relu(a) }",
        "batch=5 can't be followed through node 'a' (Reshape): it would make 5×4×6 elements 1×24",
    ),
    "the same, where the model declares the batch": (
        "g (float[N,4,6] x) => (float[N,24] y) <int64[2] s = {1,24}, float[N,24] a>"
        "{ a = Reshape(x,s) y = Relu(a) }",
        "batch=5 can't be followed through node 'a' (Reshape): it would make 5×4×6 elements 1×24",
    ),
    "all images as one": (
        "g (float[N,4,6] x) => (float[N,24] y) <int64[2] s = {1,-1}>"
        "{ a = Reshape(x,s) y = Relu(a) }",
        "batch=5 can't be followed through node 'y' (Relu): its result is 1×120, where the model "
        "declares 5×24",
    ),
    "the first of the images": (
        "g (float[N,4] x) => (float[N,4] y) <int64[1] s = {0}, int64[1] e = {1}, float[N,4] a>"
        "{ a = Slice(x,s,e,s) y = Relu(a) }",
        "batch=5 can't be followed through node 'a' (Slice)",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_an_open_batch_that_is_not_followed_is_refused(name: str) -> None:
    text, said = CONTRADICTIONS[name]
    with pytest.raises(ModelError) as refused:
        extracted(text, batch=5)
    assert str(refused.value).startswith(said)
    assert "export the model anew" in str(refused.value)
    assert extracted(text, batch=1).layers == extracted(text).layers


def test_a_dimension_that_is_not_followed_is_refused() -> None:
    text = "g (float[N,length,6] x) => (y) <int64[3] s = {0,8,6}> { a = Reshape(x,s) y = Relu(a) }"
    with pytest.raises(ModelError, match=r"batch=1, length=4 can't .*'a' \(Reshape\)"):
        extracted(text, dims={"length": 4})
    assert len(extracted(text, dims={"length": 8}).layers) == 2


def test_what_holds_several_of_the_batch_contradicts_nothing() -> None:
    """Some exporters name a dimension after the batch that is the batch times something."""
    text = (
        "g (float[N,4,6] x) => (float[N,6] y) <int64[2] s = {-1,6}>{ a = Reshape(x,s) y = Relu(a) }"
    )
    assert len(extracted(text, batch=5).layers) == 2
