"""Steps of decoders in PyTorch, and as ONNX files without weights:

    python -m benchmarks.decoders.in_pytorch export FOLDER llama-1b:32:1023 qwen3-4b:1:4095
    python -m benchmarks.decoders.in_pytorch run OUT.jsonl llama-1b:32:1023

A step is NAME:SEQUENCES:PAST: one new token of each sequence behind so many. It has four blocks at
true width, and the whole vocabulary. `export` writes NAME-bSEQUENCES-pPAST.onnx, whose caches are
inputs and outputs, as exporters write them, for `benchmarks.record`. `run` times the same step in
fp16 with buffers that it writes into, as one CUDA graph: eager and compiled. It needs transformers.
`run --quantised int4` times it with torchao's weights of that type, in bf16 otherwise: int4 in
blocks of 32; with int8 and fp8, what weights are multiplied by is quantised as it comes. Their
bounds are found by `benchmarks.record --quantised`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import onnx_ir
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from transformers.integrations import sdpa_attention

from benchmarks.decoders.published import BLOCKS, DECODERS

OPSET = 20
LONGEST = 131_072
MOST_KEPT = 4096
"""Elements of what a file holds itself."""

SAMPLES, REPLAYS = 30, 10

BLOCK = 32
"""Weights in int4 that share a scale."""


class Point(NamedTuple):
    """A step of a decoder for so many sequences, each of which has so many tokens already."""

    name: str
    sequences: int
    past: int

    @classmethod
    def parse(cls, text: str) -> "Point":
        """`llama-1b:32:1023`. Raises `ValueError` for anything else."""
        name, sequences, past = text.split(":")
        if name not in DECODERS:
            raise ValueError(f"no decoder {name!r}; there are {', '.join(DECODERS)}")
        return cls(name, int(sequences), int(past))


class Kept:
    """What transformers takes for a cache: it joins, or writes at `places` of buffers."""

    is_compileable = True
    is_sliding = (False,) * BLOCKS

    def __init__(self, kept: Sequence[Any], past: int, places: Any) -> None:
        self._kept = kept
        self._past = past
        self._places = places
        self.now: dict[int, tuple[Any, Any]] = {}

    def update(self, keys: Any, values: Any, layer: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """The keys and values of a layer with these new ones."""
        former = self._kept[2 * layer], self._kept[2 * layer + 1]
        if self._places is None:
            joined = (torch.cat([was, new], 2) for was, new in zip(former, (keys, values)))  # noqa: B905  # Dynamo knows no strict
            self.now[layer] = tuple(joined)
        else:
            former[0].index_copy_(2, self._places, keys)
            former[1].index_copy_(2, self._places, values)
            self.now[layer] = former
        return self.now[layer]

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """How many tokens came before."""
        return self._past

    get_query_offset = get_seq_length

    def get_mask_sizes(self, query: Any, *_: Any, **__: Any) -> tuple[int, int]:
        """How many keys there are, and which is the first."""
        return self._past + (query if isinstance(query, int) else query.shape[0]), 0

    def get_max_cache_shape(self, *_: Any, **__: Any) -> int:
        """Any."""
        return -1


class Step(torch.nn.Module):  # type: ignore[misc]  # types are checked without torch
    """A step that returns the scores, and what is kept where it isn't written into buffers."""

    def __init__(self, model: Any, past: int, places: Any = None) -> None:
        super().__init__()
        self.model, self.past, self.places = model, past, places

    def forward(self, ids: Any, positions: Any, *kept: Any) -> Any:
        cache = Kept(kept, self.past, self.places)
        scores = self.model(
            input_ids=ids, position_ids=positions, past_key_values=cache, use_cache=True
        ).logits
        if self.places is not None:
            return scores
        return (scores, *[part for layer in sorted(cache.now) for part in cache.now[layer]])


def built(name: str, device: str, dtype: Any) -> tuple[Any, Any]:
    """A decoder with random weights, and its configuration."""
    model, configuration, sizes = DECODERS[name]
    config = getattr(transformers, configuration)(
        num_hidden_layers=BLOCKS, max_position_embeddings=LONGEST, **sizes
    )
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return getattr(transformers, model)(config).eval(), config
    finally:
        torch.set_default_dtype(torch.float32)


def kept_shape(config: Any, point: Point, length: int) -> tuple[int, ...]:
    """Of the keys, and of the values, of a layer."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    depth = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return (point.sequences, heads, length, depth)


def export(point: Point, target: Path) -> None:
    """Writes the step as an ONNX file; no weight is ever made."""
    model, config = built(point.name, "meta", torch.float32)
    with FakeTensorMode(allow_non_fake_inputs=True):
        _fake(model)
        ids = torch.zeros(point.sequences, 1, dtype=torch.long)
        kept = [torch.empty(kept_shape(config, point, point.past)) for _ in range(2 * BLOCKS)]
        step = Step(model, point.past)
        program = torch.export.export(step, (ids, torch.zeros_like(ids), *kept), strict=False)
    graph = torch.onnx.export(
        program, dynamo=True, opset_version=OPSET, optimize=False, verbose=False
    ).model
    for weight in graph.graph.initializers.values():
        value = weight.const_value
        held = getattr(value, "raw", None)
        fake = isinstance(held, FakeTensor) or isinstance(getattr(held, "data", None), FakeTensor)
        if not fake and value.size <= MOST_KEPT:
            continue  # a number that the exporter made
        weight.const_value = onnx_ir.ExternalTensor(
            "weights.data", 0, None, value.dtype, shape=value.shape, name=weight.name
        )
    target.write_bytes(onnx_ir.to_proto(graph).SerializeToString())


def _fake(model: Any) -> None:
    """Gives weights and buffers fake tensors, those that are shared one."""
    made: dict[int, Any] = {}
    for name, weight in list(model.named_parameters(remove_duplicate=False)):
        owner, _, leaf = name.rpartition(".")
        fake = made.setdefault(id(weight), torch.nn.Parameter(torch.empty(weight.shape), False))
        model.get_submodule(owner)._parameters[leaf] = fake
    for name, buffer in list(model.named_buffers(remove_duplicate=False)):
        owner, _, leaf = name.rpartition(".")
        model.get_submodule(owner)._buffers[leaf] = torch.empty(buffer.shape, dtype=buffer.dtype)


def run(point: Point, quantised: str) -> dict[str, Any]:
    """The median times of the step in microseconds, eager and compiled; or why there is none."""
    sdpa_attention.use_gqa_in_sdpa = lambda *_, **__: True  # or keys are repeated in memory
    torch.set_grad_enabled(False)
    dtype = torch.bfloat16 if quantised else torch.float16
    model, config = built(point.name, "cuda", dtype)
    if quantised:
        _quantise(model, quantised)
    places = torch.arange(point.past, point.past + 1, device="cuda")
    shape = kept_shape(config, point, point.past + 1)
    kept = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(2 * BLOCKS)]
    ids = torch.randint(0, 1000, (point.sequences, 1), device="cuda")
    inputs = (ids, places.expand(point.sequences, 1).contiguous(), *kept)
    step = Step(model, point.past, places)
    found = {
        **point._asdict(),
        "quantised": quantised,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }
    for mode in ("eager", "compiled"):
        try:
            call = step if mode == "eager" else torch.compile(step, fullgraph=True, dynamic=False)
            found[f"{mode}_us"] = _graph_us(lambda call=call: call(*inputs))
        except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
            found[f"{mode}_failure"] = f"{type(error).__name__}: {error}"[:300]
    return found


def _quantise(model: Any, to: str) -> None:
    """Gives all products weights of torchao's."""
    from torchao import quantization

    # The head is a product of its own, also where it shares its weights with the embedding.
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    configs = {
        "int4": lambda: quantization.Int4WeightOnlyConfig(
            group_size=BLOCK, int4_packing_format="tile_packed_to_4d"
        ),
        "int8": quantization.Int8DynamicActivationInt8WeightConfig,
        "fp8": quantization.Float8DynamicActivationFloat8WeightConfig,
    }
    quantization.quantize_(model, configs[to]())


def _graph_us(call: Any) -> float:
    """The median time of replays of a CUDA graph."""
    torch.cuda.synchronize()  # what fills the inputs runs on another stream
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    times = []
    for _ in range(SAMPLES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(REPLAYS):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / REPLAYS)
    return float(median(times))


def main() -> None:
    """Exports to a folder, or appends times to a file, step by step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("export", "run"))
    parser.add_argument("where", type=Path)
    parser.add_argument("--quantised", choices=("int4", "int8", "fp8"), default="")
    parser.add_argument("points", nargs="+", type=Point.parse)
    asked = parser.parse_args()
    for point in asked.points:
        if asked.what == "export":
            name = f"{point.name}-b{point.sequences}-p{point.past}.onnx"
            export(point, asked.where / name)
            print(name, flush=True)
            continue
        line = json.dumps(run(point, asked.quantised))
        with asked.where.open("a", encoding="utf-8") as lines:
            lines.write(f"{line}\n")
        print(line, flush=True)
        torch.cuda.empty_cache()
        torch._dynamo.reset()


if __name__ == "__main__":
    main()
