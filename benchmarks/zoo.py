"""The zoo's models in a table, beside the layers that Benanza's paper counts:

python -m benchmarks.zoo > docs/zoo.md
"""

from collections.abc import Iterable

from benanza.publishing.zoo_models import whole_zoo
from benanza.results.publish import ZooModel
from benanza_ingest.decoders.forms import decoder_names, sizes_for_tables
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX

BEGIN = """# The zoo

`benanza zoo --all` lists these models, and `zoo:NAME` stands for one of them wherever a command
takes a model. They are real graphs without weights, and need no download. `python -m
benchmarks.zoo > docs/zoo.md` writes this page.

- *layers* are those that take time or view their input, *unique* those of them that differ, at
  batch 1. *GFLOPs* count a multiplication and an addition as two.
- *paper* is the number of layers in Benanza's paper (Li et al., IPDPS 2020), of a file that may
  be another one of the same architecture.
- The nine without a package are in the `onnx` package. Most others were exported from PyTorch's
  models with random weights, and not optimised; `benanza profile zoo:NAME --framework pytorch`
  runs the same model in PyTorch.
- Those of `decoder` are made by Benanza, as ONNX Runtime GenAI's builder writes them, in its
  [own operators](operators.md); of Whisper's and T5's decoders, of DeepSeek's latent attention
  and of Mamba 2 in ONNX's. Each has four of its blocks, the published widths, heads and
  vocabulary, and float32; those that have windows attend to everything in the last block, as
  does Qwen3-Next, whose first three blocks have linear attention. Mamba 2, whose states are of
  one size, has a step alone, without a past. A *step* has one new token of each sequence, and
  its caches in place: `benanza run zoo:decoder:llama-3.1-8b-step --dim past=1024,4096`. A
  *prefill* reads `--dim sequence=N`. `--quantised int4` gives the products weights of 4 bits;
  those of experts have them under `-int4`, which Qwen3-Next doesn't have. The table is for a
  past of 1,023, or a sequence of 1,024, and as many states of T5's encoder (`--dim encoder=N`).

| model | for | layers | unique | GFLOPs | paper |
|---|---|---|---|---|---|"""

END = """
Where counts differ from the paper's:

- densenet121 and inception_v2 of `onnx`: the paper counts the Unsqueezes of their weights, 242
  and 138. They compute constants from constants, and are no layers here.
- densenet121 of torchvision: that of `onnx` has a Mul and an Add behind each BatchNormalization,
  242 in all.
- inception_v1, the VGGs: the paper counts one layer more.
- alexnet of torchvision has no LRN. That of `onnx` has two.
- googlenet of torchvision has 57 BatchNormalizations, where the paper's has two LRNs.
- mobilenet_v2: the paper counts two layers more. Why was not looked into.

Of the paper's 30 models, Arcface, Caffenet, R-CNN, DUC, Emotion-Ferplus, LeNet, Tiny-YOLO and the
second versions of the ResNets are not here.
"""

PAPER = {
    "alexnet": 24,
    "densenet121": 910,
    "inception_v1": 144,
    "inception_v2": 509,
    "shufflenet": 203,
    "squeezenet": 66,
    "vgg19": 47,
    "zfnet512": 22,
    "resnet50": 175,
    "torchvision:alexnet": 24,
    "torchvision:densenet121": 910,
    "torchvision:googlenet": 143,
    "torchvision:mobilenet_v2": 155,
    "torchvision:resnet18": 69,
    "torchvision:resnet34": 125,
    "torchvision:resnet50": 175,
    "torchvision:resnet101": 345,
    "torchvision:resnet152": 515,
    "torchvision:squeezenet1_1": 66,
    "torchvision:vgg16": 41,
    "torchvision:vgg16_bn": 54,
    "torchvision:vgg19": 47,
    "torchvision:vgg19_bn": 63,
}
"""Layers, as the paper counts them."""


def extracted(model: ZooModel) -> ExtractedModel:
    """What ingest finds in a model, of a decoder at `sizes_for_tables`."""
    name = model.model.removeprefix(PREFIX)
    sizes = sizes_for_tables(name) if name in decoder_names() else {}
    return extract(fetch(model.model, Limits()).content, dims=sizes)


def row(model: ZooModel, found: ExtractedModel) -> str:
    """The line of the table for a model, by what ingest found in it."""
    name = model.model.removeprefix(PREFIX)
    known = [layer for layer in found.layers if layer.layer is not None]
    unique = len({layer.fingerprint for layer in known})
    gflops = sum(layer.flops for layer in known) / 1e9
    paper = PAPER.get(name, "")
    return f"| {name} | {model.task} | {len(known)} | {unique} | {gflops:.2f} | {paper} |"


def page(rows: Iterable[str]) -> str:
    """The whole page."""
    return "\n".join((BEGIN, *rows, END))


def main() -> None:
    """Prints the page."""
    print(page(row(model, extracted(model)) for model in whole_zoo().models), end="")


if __name__ == "__main__":
    main()
