"""What products read at the least: weights and what is kept, as it is stored."""

import pytest

from benanza_ingest.core import ingest
from benanza_ingest.decoders.forms import decoder_model
from benanza_ingest.least_work.least_reads import Reads, fewest, least_reads
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelIngested, ModelPublished
from benanza_schemas.vocabulary import STATE_AS_WRITTEN
from tests.ingest.onnx_text import extracted


def reads(given: str, weights: tuple[str, ...], body: str) -> list[Reads]:
    """What the layers read that read anything, of a graph with these inputs and weights."""
    declared = ", ".join(f'{each} = ["location": "w"]' for each in weights)
    text = f"g ({given}) => (y) {f'<{declared}>' if declared else ''} {{ {body} }}"
    model = extracted(text, opset=23, domains={"com.microsoft": 1})
    assert all(layer.kind != "skipped" for layer in model.layers), model.layers
    return [of for of in least_reads(model.layers, model.edges) if of.bytes]


@pytest.mark.parametrize(
    ("given", "weights", "body", "expected"),
    [
        pytest.param(
            *("float[2,8] x", ("float[8,16] w",), "y = MatMul(x, w)"),
            [Reads(4 * 128)],
            id="a weight, and no input",
        ),
        pytest.param(
            *("float[1,1,192] x, float[1,4,448,16] k, float[1,4,448,16] v, int32[1] n", ()),
            "y, nk, nv = com.microsoft.DecoderMaskedMultiHeadAttention"
            "<num_heads = 4, past_present_share_buffer = 1>(x, , , , , k, v, n)",
            [],
            id="nothing of a buffer, of which the data say how much is read",
        ),
        pytest.param(
            *("float[2,8] x", ("float[16,8] w",), "t = Transpose(w) y = MatMul(x, t)"),
            [Reads(4 * 128)],
            id="a weight in another form",
        ),
        pytest.param(
            "float[2,8] x",
            ("int8[8,16] w", "float s", "int8 z"),
            "d = DequantizeLinear(w, s, z) y = MatMul(x, d)",
            [Reads(128 + 4 + 1, 128 + 1)],
            id="a weight in 8 bits, with its scale",
        ),
        pytest.param(
            "float[2,32] x",
            ("uint8[16,1,16] w", "float[16,1] s"),
            "y = com.microsoft.MatMulNBits<K = 32, N = 16, bits = 4, block_size = 32>(x, w, s)",
            [Reads(256 + 64, 256)],
            id="a weight in 4 bits",
        ),
        pytest.param(
            "float[1,4,1,1] x",
            ("float[4,4,3,3] w", "float[4] b"),
            "y = Conv<pads = [1, 1, 1, 1]>(x, w, b)",
            [Reads(4 * (4 * 4 + 4))],
            id="no weights that meet only padding",
        ),
        pytest.param(
            "float[6,8] x, float[6,4] r",
            ("float[4,16,8] a", "float[4,8,16] b"),
            'y = com.microsoft.MoE<k = 2>(x, r, a, "", b)',
            [Reads(4 * 2 * 2 * 16 * 8)],
            id="experts that all rows may choose",
        ),
        pytest.param(
            "float[2,4,1,8] q, int8[2,2,8,16] k, float s",
            (),
            "r = Constant<value_ints = [1, 2, 1, 1]>() f = DequantizeLinear(k, s)"
            " n = Tile(f, r) m = Exp(q) y = MatMul(m, n)",
            [Reads(512, 512)],
            id="kept keys in 8 bits, for several heads",
        ),
        pytest.param(
            "float[2,4,1,8] q, float[2,4,8,16] k",
            (),
            "m = Exp(q) n = Exp(k) y = MatMul(m, n)",
            [],
            id="nothing that was computed",
        ),
        pytest.param(
            *("float[4,8] x", (), "t = Transpose(x) y = MatMul(x, t)"),
            [Reads(4 * 32)],
            id="what two operands are forms of, once",
        ),
        pytest.param(
            "float[2,4,1,8] x, float[2,4,7,8] k, float[2,4,7,8] v, float[2,4,1,8] n",
            (),
            "q = Exp(x) a = Concat<axis = 2>(k, n) b = Concat<axis = 2>(v, n)"
            " y = Attention(q, a, b)",
            [Reads(2 * 4 * 2 * 4 * 7 * 8 + 2 * 4 * 2 * 4 * 8)],
            id="former keys beside new ones",
        ),
        pytest.param(
            "float[2,8] x",
            ("float[8,16] w", "float[2,16] c"),
            "y = Gemm<beta = 0.0>(x, w, c)",
            [Reads(4 * 8 * 16)],
            id="nothing that is multiplied by zero",
        ),
        pytest.param(
            *("float[2,8] x", ("float[8,8] w",), 'y = Einsum<equation = "bi,ii->bi">(x, w)'),
            [],
            id="no diagonal",
        ),
        pytest.param(
            *("float[1,2,8] x", ("float[1,16,8] w", "float[1,16,4] r", "float[1,32] b")),
            "y = LSTM<hidden_size = 4>(x, w, r, b)",
            [Reads(4 * 12 * 8)],
            id="no weights of a state of zeros",
        ),
        pytest.param(
            *("float[2,2,8] x", ("float[1,16,8] w", "float[1,16,4] r")),
            "y = LSTM<hidden_size = 4>(x, w, r)",
            [Reads(4 * 16 * 12)],
            id="all weights of two steps",
        ),
        pytest.param(
            "float[2,3] x", ("float[3] w",), "y = Mul(x, w)", [], id="no product, no weights"
        ),
    ],
)
def test_what_is_given_counts_as_it_is_stored(
    given: str, weights: tuple[str, ...], body: str, expected: list[Reads]
) -> None:
    assert reads(given, weights, body) == expected


@pytest.mark.parametrize("past", [255, 1023])
def test_a_step_reads_its_caches_and_no_call_less_than_its_layers(past: int) -> None:
    published = ModelPublished(
        event_id="0" * 32,
        name="step",
        sha256="0" * 64,
        batch_sizes=(3,),
        dims={"past": past},
    )
    content = decoder_model("decoder:llama-3.2-1b-step")
    (model,) = (of for of in ingest(published, content, Limits()) if isinstance(of, ModelIngested))
    wanted = [model.summaries[use.summary].least_weights for use in model.layers]
    attention = [
        reads
        for reads, use in zip(wanted, model.layers, strict=True)
        if model.summaries[use.summary].op == "GroupQueryAttention"
    ]
    new = 3 * 8 * 64
    assert len(attention) == 4
    for read in attention:
        rest = read - 4 * 2 * past * new
        assert rest == 4 * 2 * 32 + 4, "both caches, a row of both tables, and a length"
    for group in model.groups:
        if group.rule != STATE_AS_WRITTEN:
            assert sum(wanted[position] for position in group.layers) <= group.bytes


def test_the_fewest_bytes_are_so_at_each_precision() -> None:
    """Of 12 bytes that a precision may halve, six are fewer than ten that are fixed."""
    fixed, halved = Reads(10, 10), Reads(12, 0)
    both = fewest([fixed, halved])
    assert both == Reads(10, 2)
    assert (both.bytes - both.fixed) / 2 + both.fixed == 6
    assert fewest([Reads(8, 0), Reads(4, 4)]) == Reads(4, 4)
