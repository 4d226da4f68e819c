"""What of exported models the GPU runner has calls for, and what it refuses, as Markdown.

    python -m benchmarks.gpu.operators tests/data/exported/*.onnx.gz > docs/gpu-operators.md

It takes models apart and lowers each distinct layer and group as the runtime does, which needs no
GPU. Only a measurement shows whether a library then runs a call at some precision.
"""

import argparse
import gzip
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnx_layers.random_values import is_ruled, random_value
from benanza_schemas.layer import Layer

SUFFIX = ".onnx.gz"
HEAD = """# What of exported models runs on a GPU

`python -m benchmarks.gpu.operators tests/data/exported/*.onnx.gz` makes this page; the tests
compare it with what the code does now. It counts distinct layers that compute or move data, and
distinct groups of them that rules propose as one call. The models were exported by PyTorch in
opset 20, with its optimisation on and off (*raw*).

A layer *has a call* if the runner knows what to ask a library or a kernel for. The reasons of the
others are below; on a GPU they are stored. Only a GPU shows whether a library then runs the call,
and at which precisions. For example, cuDNN fuses most activations only on Tensor Cores, which fp32
doesn't use.

The sizes of a *skipped* layer are not known before the model runs, so there is nothing to measure.
Each skipped layer counts. In detectors, all layers are skipped after those that pick the boxes
with high scores: the bound of a detector is partial, and covers the layers before.
"""
_VALUE = re.compile(r"'.*' has (shape \[.*\]|unknown rank)")


class CallCoverage(NamedTuple):
    """The layers and groups of one model by fingerprint, each with what lowering made of it."""

    name: str
    layers: "dict[str, LoweringOutcome]"
    groups: "dict[str, LoweringOutcome]"


class LoweringOutcome(NamedTuple):
    """What lowering made of a layer: the name of the `call`'s class, or a `reason`.

    A layer that ingest `skipped` was not lowered.
    """

    title: str
    call: str
    reason: str
    skipped: bool = False

    def why(self) -> str:
        """The reason without names and shapes, in which layers skipped alike differ."""
        why = self.reason.removeprefix(f"{self.title}: ")
        return _VALUE.sub("a size of what it reads or writes is not known", why)


def coverage(name: str, model: ExtractedModel) -> CallCoverage:
    """What lowering makes of each distinct layer and group, except views, which take no time."""
    layers = {
        layer.fingerprint or layer.name: _outcome(layer.layer)
        if layer.layer is not None
        else LoweringOutcome(layer.op, "", layer.reason, skipped=True)
        for layer in model.layers
        if layer.kind != "view"
    }
    groups = {group.fingerprint: _outcome(group.layer) for group in model.groups}
    return CallCoverage(name, layers, groups)


def markdown(models: Sequence[CallCoverage]) -> str:
    """Tables of the models, of the operators by call, and of layers without a call."""
    lines = [HEAD]
    lines += ["| model | layers | have a call | skipped | groups | have a call |"]
    lines += ["|---|---|---|---|---|---|"]
    for model in models:
        layers, groups = list(model.layers.values()), list(model.groups.values())
        unknown = sum(layer.skipped for layer in layers)
        counts = (len(layers), _able(layers), unknown, len(groups), _able(groups))
        lines.append(f"| {model.name} | {' | '.join(map(str, counts))} |")
    calls: dict[str, set[str]] = {}
    for outcome in (layer for model in models for layer in model.layers.values() if layer.call):
        calls.setdefault(outcome.call, set()).add(outcome.title)
    lines += ["", "Operators of these models by the call that they are lowered to:", ""]
    lines += ["| call | operators |", "|---|---|"]
    lines += [f"| {call} | {', '.join(sorted(calls[call]))} |" for call in sorted(calls)]
    refused: dict[tuple[str, str], list[str]] = {}
    skipped: dict[str, list[tuple[str, str]]] = {}
    for model in models:
        for outcome in (*model.layers.values(), *model.groups.values()):
            if outcome.skipped:
                skipped.setdefault(outcome.why(), []).append((outcome.title, model.name))
            elif outcome.reason:
                refused.setdefault((outcome.title, outcome.reason), []).append(model.name)
    lines += [
        "",
        "Layers and groups without a call; the layers of such a group are measured one by one:",
        "",
    ]
    lines += ["| layer or group | why | how many, in |", "|---|---|---|"]
    lines += [f"| {what} | {why} | {_where(refused[what, why])} |" for what, why in sorted(refused)]
    lines += [
        "",
        "Layers that are skipped:",
        "",
        "| why | operators | how many, in |",
        "|---|---|---|",
    ]
    for why, uses in sorted(skipped.items()):
        operators = ", ".join(sorted({title for title, _ in uses}))
        lines.append(f"| {why} | {operators} | {_where([name for _, name in uses])} |")
    return "\n".join(lines) + "\n"


def _able(outcomes: Iterable[LoweringOutcome]) -> int:
    return sum(not outcome.reason for outcome in outcomes)


def _where(names: list[str]) -> str:
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


def _outcome(layer: Layer) -> LoweringOutcome:
    layer = retyped(layer, "fp32")
    try:
        call = lower(layer, _values(layer)).call
    except UnsupportedError as error:
        return LoweringOutcome(layer.title(), "", str(error))
    return LoweringOutcome(layer.title(), type(call).__name__, "")


def _values(layer: Layer) -> dict[int, Array]:
    """Inputs as the model fixes them, or as an operator wants them, and ones for all others."""
    values: dict[int, Array] = {}
    for index in layer.inputs():
        tensor = layer.tensors[index]
        dtype = numpy_dtype(tensor.dtype)
        if tensor.value is None and is_ruled(layer, index):
            values[index] = random_value(layer, index)
        elif tensor.value is None:
            values[index] = np.broadcast_to(np.ones((), dtype), tensor.shape)
        else:
            values[index] = np.frombuffer(tensor.value, dtype).reshape(tensor.shape)
    return values


def main(arguments: Iterable[str] | None = None) -> None:
    """Prints the document for the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    coverages = [
        coverage(path.name.removesuffix(SUFFIX), extract(gzip.decompress(path.read_bytes())))
        for path in options.models
    ]
    print(markdown(sorted(coverages)), end="")


if __name__ == "__main__":
    main()
