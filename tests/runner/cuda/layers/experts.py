"""Mixtures of experts: ONNX Runtime's MoE and QMoE."""

from typing import Any

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.layers import floats, operator, weights

DOMAIN = "com.microsoft"
HIDDEN, INNER, EXPERTS = 64, 96, 8


def mixture(
    rows: int,
    *,
    kind: str = "relu",
    fusion: int = 0,
    third: bool = False,
    bias: bool = False,
    experts: int = EXPERTS,
    hidden: int = HIDDEN,
    inner: int = INNER,
    k: int = 2,
    **more: AttributeValue,
) -> Layer:
    """MoE of so many rows."""
    wide = 2 * inner if fusion else inner
    inputs: list[Tensor | None] = [
        floats(rows, hidden),
        floats(rows, experts),
        weights(experts, wide, hidden),
        weights(experts, wide) if bias else None,
        weights(experts, hidden, inner),
        weights(experts, hidden) if bias else None,
        weights(experts, inner, hidden) if third else None,
        weights(experts, inner) if third and bias else None,
    ]
    return _layer("MoE", inputs, kind, fusion, k, more)


def packed_mixture(
    rows: int,
    *,
    kind: str = "relu",
    fusion: int = 0,
    third: bool = False,
    bias: bool = False,
    zeros: bool = False,
    bits: tuple[int, int] = (4, 4),
    block: int = 32,
    experts: int = EXPERTS,
    hidden: int = HIDDEN,
    inner: int = INNER,
    k: int = 2,
    **more: AttributeValue,
) -> Layer:
    """QMoE of so many rows, with weights in blocks, or by row if there are none."""
    wide = 2 * inner if fusion else inner

    def product(n: int, depth: int, width: int, there: bool = True) -> list[Tensor | None]:
        if not there:
            return [None] * 4
        blocks = -(-depth // block) if block else 1
        scales = weights(experts, n, blocks) if block else weights(experts, n)
        size = (n, -(-blocks * width // 8)) if block else (-(-n * width // 8),)
        return [
            Tensor("uint8", (experts, n, depth * width // 8), constant=True),
            scales,
            weights(experts, n) if bias else None,
            Tensor("uint8", (experts, *size), constant=True) if zeros else None,
        ]

    products = (
        product(wide, hidden, bits[0]),
        product(hidden, inner, bits[1]),
        product(inner, hidden, bits[0], third),
    )
    inputs: list[Tensor | None] = [floats(rows, hidden), floats(rows, experts)]
    inputs += [each for of_product in products for each in of_product[:3]]
    inputs += [of_product[3] for of_product in products]
    more |= {"expert_weight_bits": bits[0], "fc2_expert_weight_bits": bits[1]}
    more |= {"block_size": block} if block else {}
    return _layer("QMoE", inputs, kind, fusion, k, more)


def _layer(
    op_type: str,
    inputs: list[Tensor | None],
    kind: str,
    fusion: int,
    k: int,
    more: dict[str, AttributeValue],
) -> Layer:
    while inputs[-1] is None:
        inputs.pop()
    given = [each for each in inputs if each is not None]
    numbers = iter(range(len(given)))
    places = tuple(-1 if each is None else next(numbers) for each in inputs)
    written = (len(given),)
    kinds: dict[str, AttributeValue] = {"activation_type": kind, "swiglu_fusion": fusion, "k": k}
    node = operator(op_type, 1, places, written, DOMAIN, **kinds, **more)
    return canonical(Layer((*given, given[0]), (node,), written))


GPT_OSS: dict[str, Any] = {
    "activation_alpha": 1.702,
    "activation_beta": 1.0,
    "swiglu_limit": 0.25,
    "normalize_routing_weights": 1,
}
"""As gpt-oss has them, but for a limit that random numbers reach."""

KNOWN: dict[str, Layer] = {
    "experts with relu": mixture(3),
    "experts with gelu and bias": mixture(5, kind="gelu", bias=True, normalize_routing_weights=1),
    "experts with silu, one for each row": mixture(4, kind="silu", k=1),
    "experts without activation": mixture(2, kind="identity", k=3),
    "experts of a row": mixture(1, kind="silu", normalize_routing_weights=1),
    "experts with swiglu": mixture(4, kind="swiglu", fusion=1, bias=True, **GPT_OSS),
    "experts with swiglu without a limit": mixture(3, kind="swiglu", fusion=1),
    "packed experts with silu": packed_mixture(3, kind="silu", normalize_routing_weights=1),
    "packed experts with zero points and bias": packed_mixture(
        4, zeros=True, bias=True, normalize_routing_weights=1
    ),
    "packed experts with swiglu": packed_mixture(5, kind="swiglu", fusion=1, bias=True, **GPT_OSS),
    "packed experts by row": packed_mixture(3, kind="gelu", block=0, normalize_routing_weights=1),
    "packed experts of eight bits by row": packed_mixture(
        3, kind="silu", bits=(8, 8), block=0, normalize_routing_weights=1
    ),
}
"""Those that ONNX Runtime runs on a CPU in floats and as its definition says: its QMoE takes the
softmax over the chosen ones in any case.
"""

MIXTURES: dict[str, Layer] = {
    **KNOWN,
    "experts of a prompt": mixture(150, kind="silu", third=True, normalize_routing_weights=1),
    "experts of a prompt with swiglu": mixture(
        90, kind="swiglu", fusion=1, bias=True, experts=5, hidden=136, inner=72, **GPT_OSS
    ),
    "experts with a gate": mixture(9, kind="silu", third=True, bias=True),
    "experts with swiglu in two products": mixture(3, kind="swiglu", third=True, **GPT_OSS),
    "experts with swiglu in halves": mixture(3, kind="swiglu", fusion=2, bias=True, **GPT_OSS),
    "experts of long rows": mixture(2, kind="silu", third=True, hidden=584, inner=1048, experts=40),
    "packed experts of a row with a gate": packed_mixture(1, kind="silu", third=True),
    "packed experts with a gate and zero points": packed_mixture(
        7, kind="silu", third=True, zeros=True, bias=True, normalize_routing_weights=1
    ),
    "packed experts with swiglu in halves": packed_mixture(
        3, kind="swiglu", fusion=2, zeros=True, **GPT_OSS
    ),
    "packed experts of eight bits": packed_mixture(4, kind="silu", bits=(8, 8), zeros=True),
    "packed experts of four and eight bits": packed_mixture(4, bits=(4, 8), block=32),
    "packed experts by row with zero points": packed_mixture(
        3, kind="swiglu", fusion=2, block=0, zeros=True, **GPT_OSS
    ),
    "packed experts of a prompt": packed_mixture(
        130, kind="swiglu", fusion=1, bias=True, hidden=160, inner=288, k=4, **GPT_OSS
    ),
    "packed experts of a prompt, eight bits": packed_mixture(
        70, kind="silu", third=True, bits=(8, 8), zeros=True, experts=3
    ),
}
