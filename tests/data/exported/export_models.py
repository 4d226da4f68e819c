"""Exports torchvision, timm, transformers and diffusers models as ONNX graphs without weights.

Needs PyTorch with torchvision, timm, transformers and diffusers, and no network: weights are random
and the configurations are written here. For each model it leaves `NAME.onnx.gz` (the exporter's
own optimisation on), `NAME-raw.onnx.gz` (off), and one `matrix_flops.json` with what
`torch.utils.flop_counter` counts for the same inputs: the tests compare against it. With names,
the counts of the other models stay.

Run: python export_models.py FOLDER [NAME ...]
"""

import gzip
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import onnx
import timm
import torch
import torchvision
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

Case = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]


def image(side: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.rand(1, 3, side, side),)


def tokens(length: int = 64) -> tuple[torch.Tensor, ...]:
    return (torch.randint(1, 1000, (1, length)),)


class OnlyTensors(torch.nn.Module):
    """A transformers model whose output is a tuple and whose input is positional."""

    def __init__(self, model: torch.nn.Module, argument: str) -> None:
        super().__init__()
        self.model = model
        self.argument = argument

    def forward(self, x: torch.Tensor) -> Any:
        outputs = self.model(**{self.argument: x}, return_dict=False)
        return outputs[0]


def language(cls: str, config: str, **sizes: Any) -> Callable[[], Case]:
    def build() -> Case:
        settings = getattr(transformers, config)(use_cache=False, **sizes)
        settings._attn_implementation = "eager"
        return OnlyTensors(getattr(transformers, cls)(settings), "input_ids"), tokens()

    return build


def whisper_encoder() -> Case:
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6)
    config._attn_implementation = "eager"
    encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    return OnlyTensors(encoder, "input_features"), (torch.rand(1, 80, 3000),)


def vision(name: str, side: int = 224, **arguments: Any) -> Callable[[], Case]:
    def build() -> Case:
        return torchvision.models.get_model(name, weights=None, **arguments), image(side)

    return build


def segmentation(name: str) -> Callable[[], Case]:
    class Mask(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = torchvision.models.get_model(name, weights=None, weights_backbone=None)

        def forward(self, x: torch.Tensor) -> Any:
            return self.model(x)["out"]

    return lambda: (Mask(), image())


class Detections(torch.nn.Module):
    """A torchvision detector for one image, whose outputs are tensors."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.model = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    def forward(self, x: torch.Tensor) -> Any:
        (found,) = self.model([x[0]])
        return found["boxes"], found["scores"], found["labels"]


def detection(name: str, side: int) -> Callable[[], Case]:
    return lambda: (Detections(name), image(side))


class Decoder(torch.nn.Module):
    """The decoder of an encoder-decoder model, which reads what the encoder found."""

    def __init__(self, model: torch.nn.Module, head: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.head = head

    def forward(self, x: torch.Tensor, encoded: torch.Tensor) -> Any:
        outputs = self.model(input_ids=x, encoder_hidden_states=encoded, return_dict=False)
        return self.head(outputs[0])


def decoder(cls: str, config: str, encoded: tuple[int, int], **sizes: Any) -> Callable[[], Case]:
    """`encoded` is the length and width of what the encoder found."""

    def build() -> Case:
        settings = getattr(transformers, config)(use_cache=False, **sizes)
        settings._attn_implementation = "eager"
        model = getattr(transformers, cls)(settings)
        whole = Decoder(model.get_decoder(), model.get_output_embeddings())
        return whole, (*tokens(), torch.rand(1, *encoded))

    return build


class Denoiser(torch.nn.Module):
    """A diffusion UNet whose output is a tensor."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, step: torch.Tensor, text: torch.Tensor) -> Any:
        return self.model(x, step, text, return_dict=False)[0]


def unet() -> Case:
    model = diffusers.UNet2DConditionModel(
        sample_size=32, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=64, attention_head_dim=8,
    )  # fmt: skip
    inputs = torch.rand(1, 4, 32, 32), torch.tensor([10]), torch.rand(1, 16, 64)
    return Denoiser(model), inputs


def timm_model(name: str, side: int = 224) -> Callable[[], Case]:
    return lambda: (timm.create_model(name, pretrained=False), image(side))


CASES: dict[str, Callable[[], Case]] = {
    "torchvision-resnet18": vision("resnet18"),
    "torchvision-mobilenet_v3_small": vision("mobilenet_v3_small"),
    "torchvision-efficientnet_b0": vision("efficientnet_b0"),
    "torchvision-shufflenet_v2_x1_0": vision("shufflenet_v2_x1_0"),
    "torchvision-swin_t": vision("swin_t"),
    "torchvision-lraspp_mobilenet_v3_large": segmentation("lraspp_mobilenet_v3_large"),
    "torchvision-deeplabv3_mobilenet_v3_large": segmentation("deeplabv3_mobilenet_v3_large"),
    "torchvision-ssdlite320_mobilenet_v3_large": detection("ssdlite320_mobilenet_v3_large", 320),
    "torchvision-fasterrcnn_mobilenet_v3_large_320_fpn": detection(
        "fasterrcnn_mobilenet_v3_large_320_fpn", 320
    ),
    "timm-convnext_atto": timm_model("convnext_atto"),
    "timm-vit_tiny_patch16_224": timm_model("vit_tiny_patch16_224"),
    "timm-regnety_002": timm_model("regnety_002"),
    "timm-mixer_s32_224": timm_model("mixer_s32_224"),
    "transformers-bert": language(
        "BertModel", "BertConfig", num_hidden_layers=4, hidden_size=256, num_attention_heads=4,
        intermediate_size=1024,
    ),
    "transformers-gpt2": language(
        "GPT2LMHeadModel", "GPT2Config", n_layer=4, n_embd=256, n_head=4, vocab_size=5000
    ),
    "transformers-llama": language(
        "LlamaForCausalLM", "LlamaConfig", num_hidden_layers=3, hidden_size=256,
        num_attention_heads=8, num_key_value_heads=2, intermediate_size=688, vocab_size=5000,
    ),
    "transformers-t5-encoder": language(
        "T5EncoderModel", "T5Config", num_layers=3, d_model=256, d_kv=32, d_ff=512, num_heads=8,
        vocab_size=5000,
    ),
    "transformers-t5-decoder": decoder(
        "T5ForConditionalGeneration", "T5Config", (48, 256), num_layers=3, d_model=256, d_kv=32,
        d_ff=512, num_heads=8, vocab_size=5000,
    ),
    "transformers-whisper-encoder": whisper_encoder,
    "transformers-whisper-decoder": decoder(
        "WhisperForConditionalGeneration", "WhisperConfig", (1500, 384), d_model=384,
        decoder_layers=4, decoder_attention_heads=6, encoder_layers=1, encoder_attention_heads=6,
    ),
    "diffusers-unet": unet,
}  # fmt: skip

TRACED = ("torchvision-ssdlite320_mobilenet_v3_large",
          "torchvision-fasterrcnn_mobilenet_v3_large_320_fpn")  # fmt: skip
"""`torch.export` takes no branches on sizes that depend on data: these go through the exporter
that traces. Its optimisation is to fold constants, batch norms among them."""

DEPENDS_ON_DATA = ("roi_heads",)
"""Modules whose count depends on how many regions were found; it is left out."""


def matrix_flops(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> int:
    # Fused attention is left out of the count on a CPU; the plain one is matrix products.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        model(*inputs)
    modules = counter.get_flop_counts().items()
    left_out = [ops for name, ops in modules if name.split(".")[-1] in DEPENDS_ON_DATA]
    return int(counter.get_total_flops() - sum(sum(ops.values()) for ops in left_out))


def export(name: str, model: torch.nn.Module, inputs: Any, path: Path, optimize: bool) -> None:
    """Writes the model as ONNX to `path`, its weights into files beside it."""
    if name not in TRACED:
        torch.onnx.export(
            model, inputs, path, dynamo=True, external_data=True, optimize=optimize, verbose=False
        )
        return
    torch.onnx.export(
        model, inputs, path, dynamo=False, opset_version=20, do_constant_folding=optimize
    )
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights")


def without_weights(path: Path) -> bytes:
    """The exported graph, its weights left behind, without the exporter's stack traces."""
    model = onnx.load(path, load_external_data=False)
    graphs = [model.graph, *model.functions]
    for graph in graphs:
        graph.ClearField("metadata_props")
        graph.ClearField("doc_string")
        for node in graph.node:
            node.ClearField("metadata_props")
            node.ClearField("doc_string")
    for value in [*model.graph.value_info, *model.graph.initializer]:
        value.ClearField("metadata_props")
        value.ClearField("doc_string")
    return model.SerializeToString()


def main(folder: Path, names: list[str]) -> None:
    warnings.filterwarnings("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "matrix_flops.json"
    counts = json.loads(results.read_text())["matrix_flops"] if names else {}
    for name in names or CASES:
        torch.manual_seed(0)
        try:
            model, inputs = CASES[name]()
            model.eval()
            flops = matrix_flops(model, inputs)
            for suffix, optimize in (("", True), ("-raw", False)):
                with tempfile.TemporaryDirectory() as temporary:
                    path = Path(temporary) / "model.onnx"
                    export(name, model, inputs, path, optimize)
                    content = without_weights(path)
                (folder / f"{name}{suffix}.onnx.gz").write_bytes(gzip.compress(content, mtime=0))
                print(name, suffix, len(content), flops, flush=True)
            counts[name] = flops
        except Exception:  # noqa: BLE001  one model that can't be exported must not end the others
            traceback.print_exc()
    modules = (torch, torchvision, timm, transformers, diffusers, onnx)
    versions = {module.__name__: module.__version__ for module in modules}
    result = {"versions": versions, "matrix_flops": counts}
    results.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
