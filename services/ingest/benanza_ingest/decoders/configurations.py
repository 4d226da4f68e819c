"""Sizes and kinds of decoders, from the `config.json` that each model is published with.

The file of a model is at https://huggingface.co/OWNER/NAME/blob/main/config.json. `hidden` is its
`hidden_size`, `heads` its `num_attention_heads`, `kv_heads` its `num_key_value_heads`,
`intermediate` its `intermediate_size`, `context` its `max_position_embeddings`, `tied` its
`tie_word_embeddings`. A name ends with the form: the bits of a weight and who the file is for.
"""

from onnx import TensorProto

from benanza_ingest.decoders.decoder import Crossed, Decoder, Latent

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
"""Decoders as ONNX Runtime GenAI's builder writes them, in the forms that it has for each."""

OTHERS = (
    # Qwen/Qwen3-30B-A3B
    Decoder(
        *("qwen3-30b-a3b", 48, 2048, 32, 4, 128, 768, 151_936),
        context=40_960,
        qk_norm=True,
        experts=128,
        top_k=8,
    ),
    # deepseek-ai/DeepSeek-V2-Lite
    Decoder(
        *("deepseek-v2-lite", 27, 2048, 16, 16, 128, 1408, 102_400),
        context=163_840,
        latent=Latent(rank=512, rotated=64, width=128),
        experts=64,
        top_k=6,
        normalised_routes=False,
        shared_experts=2,
        dense_layers=1,
        dense_intermediate=10_944,
    ),
    # openai/whisper-large-v3
    Decoder(
        *("whisper-large-v3", 32, 1280, 20, 20, 64, 5120, 51_866),
        context=448,
        tied=True,
        bias=True,
        output_bias=True,
        activation="gelu",
        simple_norm=False,
        crossed=Crossed(length=1500, width=1280, learned_positions=True),
    ),
    # google/flan-t5-xl
    Decoder(
        *("flan-t5-xl", 24, 2048, 32, 32, 64, 5120, 32_128),
        activation="gelu",
        attention_scale=1.0,
        crossed=Crossed(length="encoder_length", width=2048, buckets=32, farthest=128),
    ),
)
"""Decoders of other kinds."""
