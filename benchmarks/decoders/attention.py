"""Attention of one new token to a cache: the runner's best call, PyTorch's and FlashInfer's, and a
kernel that only reads as much:

    python -m benchmarks.decoders.attention OUT.jsonl 1:8:4:128:65536 32:8:4:64:4096

A shape is SEQUENCES:KEY_HEADS:QUERIES_A_KEY_HEAD:SIZE:KEYS, in fp16. Each time is the median of
replays of a CUDA graph, in microseconds. `read_us` is that of the reading kernel: the bandwidth
that there is for so many bytes. Where FlashInfer isn't installed, its times say so.
"""

import json
import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import cupy
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.variants import warm
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Operator, Tensor
from benchmarks.decoders.in_pytorch import _graph_us

BACKENDS = (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)
PAGE = 16
"""Tokens of a page of FlashInfer's cache."""

SCRATCH_BYTES = 256 << 20

READING = """
extern "C" __global__ void read(const uint4* from, long count, unsigned* to) {
  unsigned sum = 0;
  const long step = (long)gridDim.x * blockDim.x;
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    sum ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < count; i += step) sum ^= from[i].x ^ from[i].y ^ from[i].z ^ from[i].w;
  if (sum == 0x9e3779b9u) *to = sum;
}
"""
"""Whether a sum is written depends on all that is read, so that nothing is left out."""

READERS = 132 * 8, 256
"""Blocks and threads: a GPU of Hopper's generation is filled."""


class Shape(NamedTuple):
    """`group` heads of queries share one of the `key_heads`; `size` elements are a head's."""

    sequences: int
    key_heads: int
    group: int
    size: int
    keys: int

    @property
    def kept(self) -> tuple[int, int, int, int]:
        """Of the keys, and of the values."""
        return self.sequences, self.key_heads, self.keys, self.size

    @property
    def query(self) -> tuple[int, int, int, int]:
        """Of the queries, and of the result."""
        return self.sequences, self.key_heads * self.group, 1, self.size

    @property
    def cache_bytes(self) -> int:
        """Of keys and values together."""
        return 2 * 2 * self.sequences * self.key_heads * self.keys * self.size


def layer_of(shape: Shape) -> Layer:
    """ONNX's Attention of this shape."""
    query, kept = Tensor("float32", shape.query), Tensor("float32", shape.kept)
    node = Operator("Attention", "", 23, (), (0, 1, 2), (3,))
    return canonical(Layer((query, kept, kept, query), (node,), (3,)))


def compare(runtime: CudaRuntime, shape: Shape) -> dict[str, Any]:
    """A row: the shape, and the time of each; a failure in the place of a time."""
    row: dict[str, Any] = shape._asdict() | {"cache_mb": shape.cache_bytes / 1e6}
    row["gpu"] = torch.cuda.get_device_name()
    variants = warm(runtime.measure(layer_of(shape), "fp16").variants)
    best = min(variants, key=lambda variant: variant.median_us or 0.0)
    row |= {"bound_us": best.median_us, "bound_by": f"{best.library} {best.algorithm}"}
    cupy.get_default_memory_pool().free_all_blocks()
    query = torch.randn(shape.query, device="cuda", dtype=torch.float16)
    kept = torch.randn((2, *shape.kept), device="cuda", dtype=torch.float16)
    row["read_us"] = _graph_us(_reader(kept))
    for backend in BACKENDS:
        row[f"{backend.name.lower()}_us"] = _time(_in_pytorch(backend, query, kept))
    row["flashinfer_tensor_cores_us"] = _time(lambda: _in_flashinfer(shape, query, True))
    row["flashinfer_cuda_cores_us"] = _time(lambda: _in_flashinfer(shape, query, False))
    return row


def _time(made: Callable[[], Callable[[], Any]]) -> float | str:
    try:
        return _graph_us(made())
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        torch.cuda.synchronize()
        return f"{type(error).__name__}: {error}"[:200]


def _reader(kept: Any) -> Callable[[], Any]:
    kernel = cupy.RawKernel(READING, "read")
    count = kept.numel() * kept.element_size() // 16
    found = torch.zeros(1, device="cuda", dtype=torch.int32)

    def read() -> None:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            kernel((READERS[0],), (READERS[1],), (kept.data_ptr(), count, found.data_ptr()))

    return read


def _in_pytorch(backend: SDPBackend, query: Any, kept: Any) -> Callable[[], Callable[[], Any]]:
    def run() -> Any:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(query, kept[0], kept[1], enable_gqa=True)

    return lambda: run


def _in_flashinfer(shape: Shape, query: Any, tensor_cores: bool) -> Callable[[], Any]:
    from flashinfer import BatchDecodeWithPagedKVCacheWrapper

    pages = shape.keys // PAGE
    every = torch.arange(shape.sequences + 1, device="cuda", dtype=torch.int32) * pages
    order = torch.randperm(int(every[-1]), device="cuda").int()
    last = torch.full((shape.sequences,), PAGE, device="cuda", dtype=torch.int32)
    paged = (int(every[-1]), 2, shape.key_heads, PAGE, shape.size)
    cache = torch.randn(paged, device="cuda", dtype=torch.float16)
    scratch = torch.empty(SCRATCH_BYTES, device="cuda", dtype=torch.uint8)
    wrapper = BatchDecodeWithPagedKVCacheWrapper(
        scratch,
        "HND",
        use_cuda_graph=True,
        use_tensor_cores=tensor_cores,
        paged_kv_indptr_buffer=every.clone(),
        paged_kv_indices_buffer=order.clone(),
        paged_kv_last_page_len_buffer=last.clone(),
    )
    heads = shape.key_heads * shape.group
    wrapper.plan(
        every, order, last, heads, shape.key_heads, shape.size, PAGE,
        q_data_type=torch.float16, kv_data_type=torch.float16, sm_scale=1 / sqrt(shape.size),
    )  # fmt: skip
    rows = query[:, :, 0].contiguous()
    return lambda: wrapper.run(rows, cache)


def main() -> None:
    """Appends a row for each shape to the file."""
    target, *shapes = sys.argv[1:]
    torch.set_grad_enabled(False)
    runtime = CudaRuntime()
    for text in shapes:
        row = compare(runtime, Shape(*map(int, text.split(":"))))
        with Path(target).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
