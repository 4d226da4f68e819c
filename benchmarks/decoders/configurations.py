"""Sizes and kinds of 22 decoders, from the `config.json` that each model is published with.

The file of a model is at https://huggingface.co/OWNER/NAME/blob/main/config.json. `hidden` is its
`hidden_size`, `heads` its `num_attention_heads`, `kv_heads` its `num_key_value_heads`,
`intermediate` its `intermediate_size`, `context` its `max_position_embeddings`, `tied` its
`tie_word_embeddings`. A name ends with the form: the bits of a weight and who the file is for.
"""

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
    swiglu: bool = False
    """Experts have biases, and their gate and up projections are one interleaved matrix."""

    @property
    def quantised(self) -> bool:
        """Whether weights of products are packed in blocks."""
        return self.bits < 16

    def window_of(self, layer: int) -> int:
        """The window of a layer, which are numbered from 0; 0 where it attends to everything."""
        full = self.full_every and (layer + 1) % self.full_every == 0
        return 0 if full else self.window


DECODERS = (
    # meta-llama/Llama-3.2-1B-Instruct, Llama-3.2-3B-Instruct, Llama-3.1-8B-Instruct
    Decoder(
        *("llama-3.2-1b-int4-cpu", 16, 2048, 32, 8, 64, 8192, 128_256),
        tied=True,
        precision=TensorProto.FLOAT,
    ),
    Decoder("llama-3.2-3b-int4-cuda", 28, 3072, 24, 8, 128, 8192, 128_256, tied=True),
    Decoder("llama-3.1-8b-fp16-cuda", 32, 4096, 32, 8, 128, 14_336, 128_256, bits=16),
    # Qwen/Qwen2.5-0.5B-Instruct, Qwen2.5-7B-Instruct, Qwen3-0.6B, Qwen3-8B
    Decoder(
        *("qwen2.5-0.5b-int4-cpu", 24, 896, 14, 2, 64, 4864, 151_936),
        context=32_768,
        tied=True,
        bias=True,
        precision=TensorProto.FLOAT,
    ),
    Decoder(
        *("qwen2.5-7b-int4-cuda", 28, 3584, 28, 4, 128, 18_944, 152_064), context=32_768, bias=True
    ),
    Decoder(
        *("qwen3-0.6b-int4-cpu", 28, 1024, 16, 8, 128, 3072, 151_936),
        context=40_960,
        tied=True,
        qk_norm=True,
        precision=TensorProto.FLOAT,
    ),
    Decoder(
        *("qwen3-8b-int8-cuda", 36, 4096, 32, 8, 128, 12_288, 151_936),
        context=40_960,
        qk_norm=True,
        bits=8,
    ),
    # microsoft/Phi-3.5-mini-instruct, phi-4
    Decoder(
        *("phi-3.5-mini-int4-cpu", 32, 3072, 32, 32, 96, 8192, 32_064),
        original_context=4096,
        window=262_144,
        precision=TensorProto.FLOAT,
    ),
    Decoder(
        *("phi-4-int4-cuda", 40, 5120, 40, 10, 128, 17_920, 100_352),
        context=16_384,
        zero_points=True,
    ),
    # google/gemma-2-2b-it, gemma-3-1b-it
    Decoder(
        *("gemma-2-2b-int4-cuda", 26, 2304, 8, 4, 256, 9216, 256_000),
        context=8192,
        tied=True,
        activation="gelu",
        window=4096,
        full_every=2,
        softcap=50.0,
        logits_softcap=30.0,
        four_norms=True,
        embedding_scale=48.0,
        attention_scale=0.0625,
    ),
    Decoder(
        *("gemma-3-1b-int4-cuda", 26, 1152, 4, 1, 256, 6912, 262_144),
        context=32_768,
        tied=True,
        activation="gelu",
        window=512,
        full_every=6,
        qk_norm=True,
        four_norms=True,
        embedding_scale=33.94,
        attention_scale=0.0625,
    ),
    # mistralai/Mistral-7B-Instruct-v0.3, Mixtral-8x7B-Instruct-v0.1
    Decoder(
        *("mistral-7b-v0.3-int4-dml", 32, 4096, 32, 8, 128, 14_336, 32_768),
        context=32_768,
        fused_rotation=False,
    ),
    Decoder(
        *("mixtral-8x7b-fp16-cuda", 32, 4096, 32, 8, 128, 14_336, 32_000),
        context=32_768,
        experts=8,
        top_k=2,
        bits=16,
    ),
    Decoder(
        *("mixtral-8x7b-int4-cuda", 32, 4096, 32, 8, 128, 14_336, 32_000),
        context=32_768,
        experts=8,
        top_k=2,
    ),
    # openai/gpt-oss-20b
    Decoder(
        *("gpt-oss-20b-int4-cuda", 24, 2880, 64, 8, 64, 2880, 201_088),
        window=128,
        full_every=2,
        bias=True,
        output_bias=True,
        sinks=True,
        experts=32,
        top_k=4,
        swiglu=True,
    ),
    # deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
    Decoder(
        *("deepseek-r1-distill-qwen-1.5b-int4-cpu", 28, 1536, 12, 2, 128, 8960, 151_936),
        bias=True,
        precision=TensorProto.FLOAT,
    ),
    # HuggingFaceTB/SmolLM2-1.7B-Instruct
    Decoder(
        *("smollm2-1.7b-fp32-cpu", 24, 2048, 32, 32, 64, 8192, 49_152),
        context=8192,
        tied=True,
        bits=32,
        precision=TensorProto.FLOAT,
    ),
    # allenai/OLMo-1B-hf
    Decoder(
        *("olmo-1b-int4-cpu", 16, 2048, 16, 16, 128, 8192, 50_304),
        context=2048,
        tied=True,
        simple_norm=False,
        precision=TensorProto.FLOAT,
    ),
    # ibm-granite/granite-3.1-2b-instruct
    Decoder(
        *("granite-3.1-2b-int4-cuda", 40, 2048, 32, 8, 64, 8192, 49_155),
        tied=True,
        embedding_scale=12.0,
        residual_scale=0.22,
        logits_scale=0.125,
        attention_scale=0.015625,
    ),
    # nvidia/Nemotron-Mini-4B-Instruct
    Decoder(
        *("nemotron-mini-4b-int4-cuda", 32, 3072, 24, 8, 128, 9216, 256_000),
        context=4096,
        activation="relu2",
        simple_norm=False,
        fused_rotation=False,
        rotary_size=64,
    ),
    # internlm/internlm2-1_8b
    Decoder(
        *("internlm2-1.8b-int4-cpu", 24, 2048, 16, 8, 128, 8192, 92_544),
        context=32_768,
        precision=TensorProto.FLOAT,
    ),
    # tiiuae/Falcon3-1B-Instruct
    Decoder(
        *("falcon3-1b-int4-cuda", 18, 2048, 8, 4, 256, 8192, 131_072),
        context=8192,
        zero_points=True,
    ),
)
