"""What is said of a model as a whole."""

from benanza_ingest.extract import Summarised, extract_with_summary
from benanza_ingest.limits import Limits
from tests.ingest.onnx_text import content


def summarised(text: str, batch: int | None = None, **dims: int) -> Summarised:
    return extract_with_summary(content(text), batch=batch, dims=dims, limits=Limits())


def test_a_weight_that_several_layers_read_counts_once() -> None:
    """Also one that is transposed for one of them, as language models share their tables."""
    ones = ",".join(["1"] * 49)
    text = (
        f"g (float[3,7] x, int64[3] i) => (y) <float[7,7] w = {{{ones}}}> {{ t = Transpose(w) "
        "a = MatMul(x, w) b = Relu(a) c = MatMul(b, t) e = Gather(w, i) y = Add(c, e) }"
    )
    found = summarised(text)
    assert found.parameters == 49
    assert sum(layer.parameters for layer in found.model.layers) == 3 * 49


def test_what_was_taken_for_the_batch_is_said() -> None:
    text = "g (float[rows,7] x) => (y) { y = Relu(x) }"
    assert summarised(text).notes == (
        "'rows' was taken for the batch, of 1: give --batch, or --dim rows=N if it is something "
        "else",
    )
    assert summarised(text, batch=4).notes == summarised(text, rows=4).notes == ()


def test_what_is_declared_otherwise_is_said() -> None:
    text = (
        "g (float[2,7] x) => (float[1,7] y) <float[1,7] a, float[1,7] b> "
        "{ a = Relu(x) b = Relu(a) y = Relu(b) }"
    )
    assert summarised(text).notes == (
        "'a' is declared as 1×7, and by the inputs it is 2×7, which counts, and so are 2 more",
    )


def test_what_nothing_has_to_run_for_is_said() -> None:
    text = (
        "g (float[2,7] x) => (y) { a = Softmax(x) b = Softmax(x) c = Softmax(x) y = Sum(a, b, c) }"
    )
    assert summarised(text).notes == (
        "2 nodes are left out, since nothing has to run for what repeats others",
    )
