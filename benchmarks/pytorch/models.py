"""torchvision's architectures with random weights, and their ONNX exports without any:

    python -m benchmarks.pytorch.models FOLDER --models resnet50,vgg19 --batch 1

writes what `benchmarks.pytorch.compare` would export itself, for machines whose minutes are dear.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import torch
import torchvision

from benanza_runner.reasons import one_line
from benchmarks.pytorch.compare import export_path, failure_path

SIDE = 224
WITHOUT: dict[str, dict[str, Any]] = {
    "googlenet": {"aux_logits": False, "init_weights": True},
    "inception_v3": {"aux_logits": False, "init_weights": True},
}
"""Arguments that leave the heads for training out."""

MOST_PROCESSES = 8


def architecture(name: str) -> Any:
    """A model of torchvision's as it is run, the same weights each time. Those of its batch
    normalisations are random too: fresh ones change nothing, and might be left out.
    """
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, **WITHOUT.get(name, {})).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.9, 1.1)
            torch.nn.init.normal_(module.bias, std=0.1)
            torch.nn.init.normal_(module.running_mean, std=0.1)
    return model


def images(batch: int) -> Any:
    """So many images of random numbers."""
    return torch.randn(batch, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1))


def export(name: str, batch: int, target: Path) -> None:
    """Writes the graph that PyTorch's exporter makes, optimised by itself, without its weights."""
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.onnx"
        torch.onnx.export(
            architecture(name),
            (images(batch),),
            path,
            dynamo=True,
            external_data=True,
            optimize=True,
            verbose=False,
        )
        model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:  # Stack traces, the better part of the file.
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    target.write_bytes(model.SerializeToString())


def main() -> None:
    """Exports the models whose files aren't there yet, some at a time. Why one could not be
    goes into a file in its stead.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", required=True)
    parser.add_argument("--batch", type=int, default=1)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    paths = {name: export_path(asked.folder, name, asked.batch) for name in asked.models.split(",")}
    lacking = {name: path for name, path in paths.items() if not path.exists()}
    with ProcessPoolExecutor(MOST_PROCESSES, mp_context=get_context("spawn")) as pool:
        futures = {
            path: pool.submit(export, name, asked.batch, path) for name, path in lacking.items()
        }
        for path, future in futures.items():
            try:
                future.result()
            except Exception as error:  # noqa: BLE001  # the others are exported all the same
                reason = one_line(f"it can't be exported: {type(error).__name__}: {error}")
                failure_path(path).write_text(reason, encoding="utf-8")
                print(f"{path.name}: {reason}", flush=True)


if __name__ == "__main__":
    main()
