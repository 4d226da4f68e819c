"""Writes the part of the zoo that is exported from PyTorch's models, for ingest to serve:

    python -m benchmarks.pytorch.export_zoo services/ingest/benanza_ingest/reading/exported

What the folder holds already stays. A model that PyTorch's exporter fails on is named, and left
out. It needs the extra `pytorch`.
"""

import argparse
import hashlib
import lzma
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec

from benanza.pytorch.configured import CONFIGURED
from benanza.pytorch.export import export
from benanza.pytorch.names import PLAIN, parsed
from benanza_ingest.reading.zoo import ENTRIES_FILE, ExportedModel, exported_path
from benanza_runner.reasons import short_reason

LICENCES = {
    PLAIN: "BSD-3-Clause",
    "timm": "Apache-2.0",
    "transformers": "Apache-2.0",
    "diffusers": "Apache-2.0",
}
"""Of the packages. The files hold no weights."""

CLASSIFIERS = """
    alexnet vgg11 vgg13 vgg16 vgg16_bn vgg19 vgg19_bn resnet18 resnet34 resnet50 resnet101 resnet152
    resnext50_32x4d wide_resnet50_2 squeezenet1_0 squeezenet1_1 densenet121 densenet169 densenet201
    googlenet inception_v3 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet1_0
    shufflenet_v2_x1_0 regnet_y_400mf efficientnet_v2_s convnext_tiny vit_b_16 swin_t
""".split()
"""Torchvision's; with the nine of the onnx package, most of those that Benanza's paper measured."""

SEGMENTATION = """
    fcn_resnet50 deeplabv3_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large
""".split()

TIMM = """
    vit_tiny_patch16_224 vit_small_patch16_224 deit3_small_patch16_224 eva02_tiny_patch14_224
    xcit_tiny_12_p16_224 cait_xxs24_224 crossvit_tiny_240 swinv2_tiny_window8_256 pvt_v2_b1
    mvitv2_tiny davit_tiny focalnet_tiny_srf coatnet_0_rw_224 levit_192 efficientformer_l1
    mobilevit_s mobilevitv2_100 fastvit_t8 tiny_vit_5m_224 edgenext_small poolformer_s12
    mixer_s16_224 resmlp_12_224 gmlp_s16_224 convnextv2_nano inception_next_tiny regnety_008
    efficientnet_b0 tf_efficientnet_b0 mobilenetv4_conv_small mobilenetv4_hybrid_medium repvgg_a0
    hrnet_w18_small res2net50_26w_4s pit_ti_224 tnt_s_legacy_patch16_224 efficientvit_b0
    ghostnetv2_100 visformer_tiny mambaout_femto starnet_s1 repvit_m0_9 volo_d1_224 resnest14d
    skresnet18 tresnet_m hgnetv2_b0 dpn68 botnet26t_256 halonet26t lambda_resnet26t
    ese_vovnet19b_dw cspresnet50 gcresnet33ts nextvit_small vitamin_small_224 selecsls42b
""".split()

TASKS = {
    "transformers:gpt2-small": "text generation",
    "transformers:segformer-b0": "segmentation",
    "transformers:whisper-tiny": "speech",
    "transformers:wav2vec2-small": "speech",
    "transformers:hubert-small": "speech",
    "diffusers:unet-small": "diffusion",
    "transformers:bart-base": "text to text",
    "transformers:t5-small": "text to text",
}


def wanted() -> Iterator[tuple[str, str]]:
    """The names of the models, as `benanza export` takes them, and what they are for."""
    yield from ((name, "image classification") for name in CLASSIFIERS)
    yield from ((name, "segmentation") for name in SEGMENTATION)
    yield from ((f"timm:{name}", "image classification") for name in TIMM)
    for name, configured in CONFIGURED.items():
        yield name, TASKS.get(name) or _task(configured.model)


def _task(model: str) -> str:
    if model.endswith("ForCausalLM"):
        return "text generation"
    return "image classification" if "Image" in model else "text encoding"


def main() -> None:
    """Exports what the folder lacks, and writes the list of what it holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    listed = folder / ENTRIES_FILE
    entries: dict[str, ExportedModel] = {}
    if listed.exists():
        entries = msgspec.json.decode(listed.read_bytes(), type=dict[str, ExportedModel])
    for name, task in wanted():
        package, model = parsed(name)
        key = f"{package}:{model}"
        if key in entries:
            continue
        try:
            exported = export(name, batch=1)
        except Exception as error:  # noqa: BLE001  # each package raises what it likes
            print(f"{key}: {type(error).__name__}: {short_reason(str(error))}", flush=True)
            continue
        content = exported.SerializeToString(deterministic=True)
        compressed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
        exported_path(folder, key).write_bytes(compressed)
        entries[key] = ExportedModel(
            task=task,
            source=f"{package} {version(package)}, torch {version('torch')}",
            licence=LICENCES[package],
            sha256=hashlib.sha256(content).hexdigest(),
            nodes=len(exported.graph.node),
        )
        text = msgspec.json.format(msgspec.json.encode(dict(sorted(entries.items()))), indent=1)
        whole = listed.with_suffix(".part")
        whole.write_bytes(text)
        whole.rename(listed)
        print(f"{key}: {entries[key].nodes:,} nodes, {len(content):,} bytes", flush=True)


if __name__ == "__main__":
    main()
