"""What of exported models the GPU runner has calls for, and what it refuses, as Markdown.

    python -m benchmarks.gpu.operators tests/data/exported/*.onnx.gz > docs/gpu-operators.md

It takes models apart and lowers each distinct layer and group as the runtime does, which needs no
GPU. Whether a library then runs a call at some precision is only known when it is measured.
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
from benanza_schemas.layer import Layer

SUFFIX = ".onnx.gz"
HEAD = """# What of exported models runs on a GPU

Made by `python -m benchmarks.gpu.operators tests/data/exported/*.onnx.gz`; the tests compare it
with what the code does now. Distinct layers that compute or move data, and the distinct groups of
them that rules propose as one call, of models that PyTorch exported in opset 20, with its
optimisation on and off (*raw*). One *has a call* where the runner knows what to ask a library or a
kernel for. Of the others the reason is below, and is stored where a GPU runs them. Whether a
library then runs the call, and at which precisions, only a GPU says: cuDNN fuses most activations
on Tensor Cores only, for one, which fp32 shuts out.

Sizes of a *skipped* layer are not known before the model runs, so that there is nothing to measure;
each counts. In detectors that is all that follows once they pick the boxes whose scores are high
enough: their bound is partial, and covers the layers before.
"""
_VALUE = re.compile(r"'.*' has (shape \[.*\]|unknown rank)")


class CallCoverage(NamedTuple):
    """Of one model: its layers and groups by fingerprint, each with its title, the kind of call
    that it comes down to, and the reason where there is none.
    """

    name: str
    layers: "dict[str, LoweringOutcome]"
    groups: "dict[str, LoweringOutcome]"


class LoweringOutcome(NamedTuple):
    """`call` is the name of the call's class; it is empty where there is a `reason`.

    A layer that ingest `skipped` was not asked for.
    """

    title: str
    call: str
    reason: str
    skipped: bool = False

    def why(self) -> str:
        """The reason without names and shapes, in which layers that are skipped alike differ."""
        why = self.reason.removeprefix(f"{self.title}: ")
        return _VALUE.sub("a size of what it reads or writes is not known", why)


def coverage(name: str, model: ExtractedModel) -> CallCoverage:
    """What the runner would ask for, for each distinct layer and group; views take no time."""
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
    """A table of the models, one of the operators by call, and what has none."""
    lines = [HEAD]
    lines += ["| model | layers | have a call | skipped | groups | have a call |"]
    lines += ["|---|---|---|---|---|---|"]
    for model in models:
        layers, groups = list(model.layers.values()), list(model.groups.values())
        unknown = sum(layer.skipped for layer in layers)
        counts = (len(layers), _able(layers), unknown, len(groups), _able(groups))
        lines.append(f"| {model.name} | {' | '.join(map(str, counts))} |")
    calls: dict[str, set[str]] = {}
    for outcome in (each for model in models for each in model.layers.values() if each.call):
        calls.setdefault(outcome.call, set()).add(outcome.title)
    lines += ["", "Operators of these models by the call that they come down to:", ""]
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
    lines += ["", "What has none; where it is a group, its layers are measured one by one:", ""]
    lines += ["| layer or group | why | how many, in |", "|---|---|---|"]
    lines += [f"| {what} | {why} | {_where(refused[what, why])} |" for what, why in sorted(refused)]
    lines += ["", "What is skipped:", "", "| why | operators | how many, in |", "|---|---|---|"]
    for why, found in sorted(skipped.items()):
        operators = ", ".join(sorted({title for title, _ in found}))
        lines.append(f"| {why} | {operators} | {_where([name for _, name in found])} |")
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
    """Inputs as the model fixes them, and ones, which lie nowhere, for all others."""
    values: dict[int, Array] = {}
    for index in layer.inputs():
        tensor = layer.tensors[index]
        dtype = numpy_dtype(tensor.dtype)
        if tensor.value is None:
            values[index] = np.broadcast_to(np.ones((), dtype), tensor.shape)
        else:
            values[index] = np.frombuffer(tensor.value, dtype).reshape(tensor.shape)
    return values


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    found = [
        coverage(path.name.removesuffix(SUFFIX), extract(gzip.decompress(path.read_bytes())))
        for path in options.models
    ]
    print(markdown(sorted(found)), end="")


if __name__ == "__main__":
    main()
