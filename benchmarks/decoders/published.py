"""Sizes of decoders, as their makers published them."""

from typing import Any

BLOCKS = 4
"""Of each decoder."""

DECODERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama-1b": ("LlamaForCausalLM", "LlamaConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128_256,
        "tie_word_embeddings": True,
    }),
    "llama-8b": ("LlamaForCausalLM", "LlamaConfig", {
        "hidden_size": 4096, "intermediate_size": 14_336, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128_256,
    }),
    "qwen3-4b": ("Qwen3ForCausalLM", "Qwen3Config", {
        "hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936,
        "tie_word_embeddings": True,
    }),
    "mistral-7b": ("MistralForCausalLM", "MistralConfig", {
        "hidden_size": 4096, "intermediate_size": 14_336, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32_768, "sliding_window": None,
    }),
    "phi4-mini": ("Phi3ForCausalLM", "Phi3Config", {
        "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24,
        "num_key_value_heads": 8, "vocab_size": 200_064, "tie_word_embeddings": True,
        "pad_token_id": 0,
    }),
    "gemma3-1b": ("Gemma3ForCausalLM", "Gemma3TextConfig", {
        "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4,
        "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262_144,
        "tie_word_embeddings": True, "layer_types": ["full_attention"] * BLOCKS,
    }),
    "olmo2-7b": ("Olmo2ForCausalLM", "Olmo2Config", {
        "hidden_size": 4096, "intermediate_size": 11_008, "num_attention_heads": 32,
        "num_key_value_heads": 32, "vocab_size": 100_352,
    }),
    "granite-2b": ("GraniteForCausalLM", "GraniteConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 49_155,
    }),
    "gpt-neox-3b": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {
        "hidden_size": 2560, "intermediate_size": 10_240, "num_attention_heads": 32,
        "vocab_size": 50_304,
    }),
    "smollm3-3b": ("SmolLM3ForCausalLM", "SmolLM3Config", {
        "hidden_size": 2048, "intermediate_size": 11_008, "num_attention_heads": 16,
        "num_key_value_heads": 4, "vocab_size": 128_256, "tie_word_embeddings": True,
    }),
    "glm4-9b": ("Glm4ForCausalLM", "Glm4Config", {
        "hidden_size": 4096, "intermediate_size": 13_696, "num_attention_heads": 32,
        "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 151_552,
    }),
    "qwen2.5-7b": ("Qwen2ForCausalLM", "Qwen2Config", {
        "hidden_size": 3584, "intermediate_size": 18_944, "num_attention_heads": 28,
        "num_key_value_heads": 4, "vocab_size": 152_064,
    }),
    "starcoder2-3b": ("Starcoder2ForCausalLM", "Starcoder2Config", {
        "hidden_size": 3072, "intermediate_size": 12_288, "num_attention_heads": 24,
        "num_key_value_heads": 2, "vocab_size": 49_152, "sliding_window": None,
    }),
    "nemotron-4b": ("NemotronForCausalLM", "NemotronConfig", {
        "hidden_size": 3072, "intermediate_size": 9216, "num_attention_heads": 24,
        "num_key_value_heads": 8, "vocab_size": 256_000,
    }),
    "llama-3b": ("LlamaForCausalLM", "LlamaConfig", {
        "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128_256,
        "tie_word_embeddings": True,
    }),
    "qwen3-8b": ("Qwen3ForCausalLM", "Qwen3Config", {
        "hidden_size": 4096, "intermediate_size": 12_288, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936,
    }),
    "phi4": ("Phi3ForCausalLM", "Phi3Config", {
        "hidden_size": 5120, "intermediate_size": 17_920, "num_attention_heads": 40,
        "num_key_value_heads": 10, "vocab_size": 100_352, "pad_token_id": 0,
    }),
    "r1-qwen-1.5b": ("Qwen2ForCausalLM", "Qwen2Config", {
        "hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12,
        "num_key_value_heads": 2, "vocab_size": 151_936,
    }),
    "falcon3-1b": ("LlamaForCausalLM", "LlamaConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 131_072,
    }),
    "smollm2-1.7b": ("LlamaForCausalLM", "LlamaConfig", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
        "num_key_value_heads": 32, "vocab_size": 49_152, "tie_word_embeddings": True,
    }),
}  # fmt: skip
"""The class of each in transformers, that of its configuration, and its sizes."""

IN_ZOO = {
    "llama-1b": "llama-3.2-1b",
    "llama-3b": "llama-3.2-3b",
    "llama-8b": "llama-3.1-8b",
    "mistral-7b": "mistral-7b-v0.3",
    "qwen2.5-7b": "qwen2.5-7b",
    "qwen3-8b": "qwen3-8b",
    "granite-2b": "granite-3.1-2b",
    "nemotron-4b": "nemotron-mini-4b",
    "phi4": "phi-4",
    "r1-qwen-1.5b": "deepseek-r1-distill-qwen-1.5b",
    "falcon3-1b": "falcon3-1b",
    "smollm2-1.7b": "smollm2-1.7b",
}
"""Those that the zoo has, too, and what it calls them."""
