"""What a decoder is made of."""

from dataclasses import KW_ONLY, dataclass

from onnx import TensorProto

BLOCK = 32
"""Weights of one quantised block, along the depth of a product."""


@dataclass(frozen=True)
class Decoder:
    """Sizes and kinds of a decoder. `vocabulary`, `context` and `window` are in tokens."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    _: KW_ONLY
    context: int = 131_072
    activation: str = "silu"
    bits: int = 4
    """Of a weight; with 16 and more it is not quantised."""
    zero_points: bool = False
    precision: int = TensorProto.FLOAT16
    """ONNX's type of all that is not quantised."""
    tied: bool = False
    """The table of words is also the weight of the last product."""
    bias: bool = False
    """Queries, keys and values have one."""
    output_bias: bool = False
    qk_norm: bool = False
    fused_rotation: bool = True
    """The attention rotates queries and keys itself."""
    rotary_size: int = 0
    """The elements of a head that are rotated; 0 stands for all."""
    original_context: int = 0
    """Where Phi's long rotary tables begin; 0 stands for one pair of tables."""
    window: int = 0
    """Of local attention, in those layers whose number, from 1, `full_every` doesn't divide; 0
    stands for none, and a `full_every` of 0 for local attention in all layers."""
    full_every: int = 0
    sinks: bool = False
    softcap: float = 0.0
    logits_softcap: float = 0.0
    simple_norm: bool = True
    """The norms divide by the root of the mean square; otherwise they have a mean and a bias."""
    four_norms: bool = False
    """Each layer has four norms, as Gemma's have, which are computed in float32."""
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logits_scale: float = 1.0
    attention_scale: float = 0.0
    """0 stands for the usual one."""
    experts: int = 0
    top_k: int = 0
    normalised_routes: bool = True
    """The weights of the chosen experts add up to one."""
    shared_experts: int = 0
    """Experts that each token has besides."""
    dense_layers: int = 0
    """The first layers, which have no experts but one network, of `dense_intermediate`."""
    dense_intermediate: int = 0
    swiglu: bool = False
    """Experts have biases, and their gate and up projections are one interleaved matrix."""

    latent: "Latent | None" = None
    crossed: "Crossed | None" = None
    prompt: bool = False
    """The model reads whole prompts, and nothing is kept before them. Only latent attention and
    what is behind an encoder ask for it: other graphs read both prompts and further tokens."""

    @property
    def quantised(self) -> bool:
        """Whether weights of products are packed in blocks."""
        return self.bits < 16

    def window_of(self, layer: int) -> int:
        """The window of a layer, which are numbered from 0; 0 where it attends to everything."""
        full = self.full_every and (layer + 1) % self.full_every == 0
        return 0 if full else self.window


@dataclass(frozen=True)
class Latent:
    """Sizes of DeepSeek's latent attention, which keeps one vector for all heads.

    That has `rank` elements, of which keys and values are made, and `rotated` ones, which all keys
    have besides those that `head_size` counts. The values of a head have `width` elements.
    """

    rank: int
    rotated: int
    width: int


@dataclass(frozen=True)
class Crossed:
    """What a decoder has behind an encoder: each layer also attends to the encoder's states.

    There are `length` of them, a number or the name of an open dimension, of `width` elements.
    Positions are rows of a table with `learned_positions`; or scores have a bias by how far the key
    is away, from a table of `buckets` rows, the last of which stands for `farthest` and more.
    """

    length: int | str
    width: int
    learned_positions: bool = False
    buckets: int = 0
    farthest: int = 0
