"""Models that their packages name by class alone: small configurations of them, each with a name.

Nothing is downloaded, as weights are random. What an input doesn't say, such as an attention mask,
the model makes itself.
"""

from typing import Any, NamedTuple


class Input(NamedTuple):
    """An argument of a model and its shape without the batch. It holds whole numbers from 0 to
    `below`; if that is 0, normally distributed ones.
    """

    argument: str
    shape: tuple[int, ...]
    below: int = 0


class Configured(NamedTuple):
    """A class of models, that of its configuration, its inputs and what the configuration says.

    A class without a configuration takes the same itself.
    """

    model: str
    configuration: str
    inputs: tuple[Input, ...]
    sizes: dict[str, Any]


def _text(
    model: str, configuration: str, vocab_size: int = 32_000, length: int = 128, **sizes: Any
) -> Configured:
    inputs = (Input("input_ids", (length,), vocab_size),)
    return Configured(model, configuration, inputs, {"vocab_size": vocab_size, **sizes})


def _translation(model: str, configuration: str, vocab_size: int, **sizes: Any) -> Configured:
    inputs = (
        Input("input_ids", (128,), vocab_size),
        Input("decoder_input_ids", (64,), vocab_size),
    )
    return Configured(model, configuration, inputs, {"vocab_size": vocab_size, **sizes})


def _image(model: str, configuration: str, side: int = 224, **sizes: Any) -> Configured:
    return Configured(model, configuration, (Input("pixel_values", (3, side, side)),), sizes)


def _speech(model: str, configuration: str, **sizes: Any) -> Configured:
    return Configured(model, configuration, (Input("input_values", (16_000,)),), sizes)


CONFIGURED = {
    # Decoders.
    "transformers:llama-small": _text(
        "LlamaForCausalLM", "LlamaConfig", hidden_size=1024, num_hidden_layers=8,
        num_attention_heads=16, num_key_value_heads=4, head_dim=64, intermediate_size=2816,
    ),
    "transformers:qwen3-small": _text(
        "Qwen3ForCausalLM", "Qwen3Config", hidden_size=1024, num_hidden_layers=8,
        num_attention_heads=16, num_key_value_heads=8, head_dim=128, intermediate_size=3072,
    ),
    "transformers:mistral-small": _text(
        "MistralForCausalLM", "MistralConfig", hidden_size=1024, num_hidden_layers=8,
        num_attention_heads=16, num_key_value_heads=4, head_dim=64, intermediate_size=3584,
        sliding_window=64,
    ),
    "transformers:gemma3-small": _text(
        "Gemma3ForCausalLM", "Gemma3TextConfig", hidden_size=640, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=1, head_dim=256, intermediate_size=2048,
        query_pre_attn_scalar=256, sliding_window=64,
    ),
    "transformers:gpt2-small": _text(
        "GPT2LMHeadModel", "GPT2Config", 50_257, n_layer=12, n_embd=768, n_head=12,
    ),
    "transformers:gpt-neox-small": _text(
        "GPTNeoXForCausalLM", "GPTNeoXConfig", 50_304, hidden_size=768, num_hidden_layers=12,
        num_attention_heads=12, intermediate_size=3072,
    ),
    "transformers:phi-small": _text(
        "PhiForCausalLM", "PhiConfig", hidden_size=1024, num_hidden_layers=8,
        num_attention_heads=16, num_key_value_heads=16, intermediate_size=4096,
    ),
    "transformers:mamba-small": _text(
        "MambaForCausalLM", "MambaConfig", length=32, hidden_size=256, num_hidden_layers=4,
        state_size=16, time_step_rank=16,
    ),
    "transformers:mamba2-small": _text(
        "Mamba2ForCausalLM", "Mamba2Config", hidden_size=512, num_hidden_layers=4, num_heads=16,
        head_dim=64, state_size=64, n_groups=1, chunk_size=64,
    ),
    # Text encoders.
    "transformers:bert-small": _text(
        "BertForMaskedLM", "BertConfig", 30_522, hidden_size=512, num_hidden_layers=8,
        num_attention_heads=8, intermediate_size=2048,
    ),
    "transformers:roberta-base": _text("RobertaForMaskedLM", "RobertaConfig", 50_265),
    "transformers:distilbert-base": _text("DistilBertForMaskedLM", "DistilBertConfig", 30_522),
    "transformers:deberta-v2-small": _text(
        "DebertaV2ForMaskedLM", "DebertaV2Config", hidden_size=768, num_hidden_layers=6,
        num_attention_heads=12, intermediate_size=3072, relative_attention=True,
        position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True,
        pos_att_type=["p2c", "c2p"], position_biased_input=False,
    ),
    "transformers:modernbert-small": _text(
        "ModernBertForMaskedLM", "ModernBertConfig", 50_368, length=256, num_hidden_layers=6,
    ),
    "transformers:electra-small": _text(
        "ElectraForSequenceClassification", "ElectraConfig", 30_522,
    ),
    # Encoders with a decoder.
    "transformers:t5-small": _translation("T5ForConditionalGeneration", "T5Config", 32_128),
    "transformers:bart-base": _translation(
        "BartForConditionalGeneration", "BartConfig", 50_265, d_model=768, encoder_layers=6,
        decoder_layers=6, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072,
    ),
    "transformers:whisper-tiny": Configured(
        "WhisperForConditionalGeneration", "WhisperConfig",
        (Input("input_features", (80, 3000)), Input("decoder_input_ids", (64,), 50_000)), {},
    ),
    # Images.
    "transformers:vit-small": _image(
        "ViTForImageClassification", "ViTConfig", hidden_size=384, num_attention_heads=6,
        intermediate_size=1536,
    ),
    "transformers:swin-tiny": _image("SwinForImageClassification", "SwinConfig"),
    "transformers:segformer-b0": _image(
        "SegformerForSemanticSegmentation", "SegformerConfig", side=256, num_labels=150,
    ),
    "transformers:dinov2-small": _image(
        "Dinov2ForImageClassification", "Dinov2Config", hidden_size=384, num_attention_heads=6,
    ),
    "transformers:beit-small": _image(
        "BeitForImageClassification", "BeitConfig", hidden_size=384, num_attention_heads=6,
        intermediate_size=1536, use_relative_position_bias=True,
    ),
    # Speech.
    "transformers:wav2vec2-small": _speech(
        "Wav2Vec2ForCTC", "Wav2Vec2Config", num_hidden_layers=6,
    ),
    "transformers:hubert-small": _speech(
        "HubertForCTC", "HubertConfig", num_hidden_layers=6, feat_extract_norm="layer",
        conv_bias=True, do_stable_layer_norm=True,
    ),
    # Diffusion.
    "diffusers:unet-small": Configured(
        "UNet2DConditionModel", "",
        (
            Input("sample", (4, 32, 32)),
            Input("timestep", (), 1_000),
            Input("encoder_hidden_states", (77, 512)),
        ),
        {
            "sample_size": 32, "block_out_channels": (128, 256, 512), "layers_per_block": 2,
            "down_block_types": ("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
            "cross_attention_dim": 512, "attention_head_dim": 8,
        },
    ),
}  # fmt: skip
