"""The decoders have as many parameters as their models are published with."""

import pytest

from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import Decoder

BILLIONS = {
    # Model cards: "1B (1.23B)", "3B (3.21B)"; Llama 3.1's as its files hold them.
    "llama-3.2-1b-int4-cpu": 1.236,
    "llama-3.2-3b-int4-cuda": 3.21,
    "llama-3.1-8b-fp16-cuda": 8.03,
    # Model cards, "Number of Parameters".
    "qwen2.5-0.5b-int4-cpu": 0.49,
    "qwen2.5-7b-int4-cuda": 7.61,
    "qwen3-0.6b-int4-cpu": 0.6,
    "qwen3-8b-int8-cuda": 8.2,
    "phi-3.5-mini-int4-cpu": 3.8,
    "phi-4-int4-cuda": 14.7,
    # Technical reports: those of the embedding and the others.
    "gemma-2-2b-int4-cuda": 0.590 + 2.024,
    "gemma-3-1b-int4-cuda": 0.302 + 0.698,
    "mistral-7b-v0.3-int4-dml": 7.25,
    "mixtral-8x7b-fp16-cuda": 46.7,
    "mixtral-8x7b-int4-cuda": 46.7,
    "gpt-oss-20b-int4-cuda": 20.91,  # model card of OpenAI
    "deepseek-r1-distill-qwen-1.5b-int4-cpu": 1.78,
    "smollm2-1.7b-fp32-cpu": 1.71,
    "olmo-1b-int4-cpu": 1.18,
    "granite-3.1-2b-int4-cuda": 2.53,
    "nemotron-mini-4b-int4-cuda": 4.19,
    "internlm2-1.8b-int4-cpu": 1.89,
    "falcon3-1b-int4-cuda": 1.67,
}


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda each: each.name)
def test_the_number_of_parameters_is_the_published_one(decoder: Decoder) -> None:
    assert parameters(decoder) == pytest.approx(BILLIONS[decoder.name] * 1e9, rel=0.02)


def parameters(d: Decoder) -> int:
    """Without the rotary tables, which are computed, and without OLMo's norms, which only seem to
    have weights: they are ones and zeros.
    """
    wide, narrow = d.heads * d.head_size, d.kv_heads * d.head_size
    attention = d.hidden * (2 * wide + 2 * narrow) + d.bias * (wide + 2 * narrow)
    attention += d.output_bias * d.hidden + d.sinks * d.heads + 2 * d.qk_norm * d.head_size
    forward = (2 if d.activation == "relu2" else 3) * d.hidden * d.intermediate
    if d.experts:
        biases = 2 * d.intermediate + d.hidden
        forward = d.experts * (forward + d.swiglu * biases)
        forward += d.experts * (d.hidden + d.swiglu)
    norm = 0 if d.name.startswith("olmo") else d.hidden * (1 if d.simple_norm else 2)
    norms = 4 if d.four_norms else 2
    words = d.vocabulary * d.hidden * (1 if d.tied else 2)
    return words + d.layers * (attention + forward + norms * norm) + norm
