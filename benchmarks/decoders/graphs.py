"""Decoders with random weights as CUDA graphs, for a server that batches continuously.

A graph for each of some numbers of sequences and lengths of the cache, and one for each of some
lengths of a prompt. Sequences are in the first places of the cache, and attend to as many tokens as
their graph is for, of which those that they don't have are masked.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

from benchmarks.decoders.serving import LENGTHS, PROMPTS, SEQUENCES


class Sizes(NamedTuple):
    """Of a decoder like Llama."""

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int


SIZES = {
    "llama-1b": Sizes(16, 2048, 8192, 32, 8, 64, 128_256),
    "llama-8b": Sizes(32, 4096, 14_336, 32, 8, 128, 128_256),
}


class RandomDecoder:
    """A decoder in fp16 on the GPU, with a cache of as many places as there are sequences."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._embedding = _random(sizes.vocabulary, sizes.width)
        attended = sizes.heads * sizes.head
        read = attended + 2 * sizes.kv_heads * sizes.head
        self._blocks = [
            (
                _random(read, sizes.width),
                _random(sizes.width, attended),
                _random(2 * sizes.inner, sizes.width),
                _random(sizes.width, sizes.inner),
            )
            for _ in range(sizes.layers)
        ]
        self._scale = torch.ones(sizes.width, device="cuda", dtype=torch.float16)
        kept = (sizes.layers, 2, SEQUENCES[-1], sizes.kv_heads, LENGTHS[-1], sizes.head)
        self._cache = torch.zeros(kept, device="cuda", dtype=torch.float16)
        steps = 10_000.0 ** (-torch.arange(0, sizes.head, 2) / sizes.head)
        angles = torch.outer(torch.arange(LENGTHS[-1]), steps).repeat(1, 2)
        self._cos = angles.cos().to("cuda", torch.float16)
        self._sin = angles.sin().to("cuda", torch.float16)
        self._places = torch.arange(LENGTHS[-1], device="cuda")

    def step(self, ids: Any, positions: Any, length: int) -> Any:
        """The next token of each sequence, which has read one at its position."""
        count, kv_heads = ids.shape[0], self._sizes.kv_heads
        x = self._embedding[ids]
        cos, sin = self._cos[positions][:, None], self._sin[positions][:, None]
        seen = (self._places[:length] <= positions[:, None])[:, None, None]
        rows = torch.arange(count, device="cuda")
        for block, (keys, values) in zip(self._blocks, self._cache, strict=True):
            q, k, v = self._read(x, block)
            keys[rows, :, positions] = _rotated(k, cos, sin)
            values[rows, :, positions] = v
            # Heads that share keys are rows of one attention.
            q = _rotated(q, cos, sin).view(count, kv_heads, -1, self._sizes.head)
            past = keys[:count, :, :length], values[:count, :, :length]
            x = self._rest(
                x, scaled_dot_product_attention(q, *past, seen).reshape(count, -1), block
            )
        return self._token(x)

    def prompt(self, ids: Any, sequence: Any, last: Any) -> Any:
        """The first token of a sequence, of whose prompt the last one is at place `last`."""
        length = ids.shape[0]
        x = self._embedding[ids]
        cos, sin = self._cos[:length][:, None], self._sin[:length][:, None]
        for block, (keys, values) in zip(self._blocks, self._cache, strict=True):
            q, k, v = self._read(x, block)
            q, k, v = (
                each.transpose(0, 1)[None]
                for each in (_rotated(q, cos, sin), _rotated(k, cos, sin), v)
            )
            keys[:, :, :length].index_copy_(0, sequence, k)
            values[:, :, :length].index_copy_(0, sequence, v)
            found = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = self._rest(x, found[0].transpose(0, 1).reshape(length, -1), block)
        return self._token(x[last])

    def move(self, source: int, target: int) -> None:
        """Puts what one sequence has in the cache in the place of another's."""
        self._cache[:, :, target] = self._cache[:, :, source]

    def _read(self, x: Any, block: Sequence[Any]) -> list[Any]:
        heads, kv_heads, head = self._sizes.heads, self._sizes.kv_heads, self._sizes.head
        parts = (self._norm(x) @ block[0].T).split(
            [heads * head, kv_heads * head, kv_heads * head], -1
        )
        return [part.unflatten(-1, (-1, head)) for part in parts]

    def _rest(self, x: Any, attended: Any, block: Sequence[Any]) -> Any:
        x = x + attended @ block[1].T
        gate, up = (self._norm(x) @ block[2].T).chunk(2, -1)
        return x + (silu(gate) * up) @ block[3].T

    def _norm(self, x: Any) -> Any:
        return rms_norm(x, (self._sizes.width,), self._scale, 1e-5)

    def _token(self, x: Any) -> Any:
        return (self._norm(x) @ self._embedding.T).argmax(-1)


class GraphEngine:
    """A decoder's graphs. Results are on the host when a call returns."""

    def __init__(self, name: str) -> None:
        self._decoder = decoder = RandomDecoder(SIZES[name])
        self._pool: Any = None
        self._steps: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._prompts: dict[int, tuple[Any, ...]] = {}
        for count in reversed(SEQUENCES):
            ids, at = _zeros(count), _zeros(count)
            for length in reversed(LENGTHS):
                graph = self._captured(lambda: decoder.step(ids, at, length))  # noqa: B023  # called at once
                self._steps[count, length] = (ids, at, *graph)
        for length in reversed(PROMPTS):
            ids, sequence, last = _zeros(length), _zeros(1), _zeros(1)
            graph = self._captured(lambda: decoder.prompt(ids, sequence, last))  # noqa: B023
            self._prompts[length] = (ids, sequence, last, *graph)

    def step(self, pasts: Sequence[int], graph: tuple[int, int]) -> None:
        """Gives each of the first sequences a token, by this graph."""
        ids, at, captured, result = self._steps[graph]
        ids[: len(pasts)].fill_(1)
        at[: len(pasts)].copy_(torch.tensor(pasts))
        captured.replay()
        result.tolist()

    def prompt(self, tokens: int, sequence: int, graph: int) -> None:
        """Reads the prompt of a sequence, by this graph."""
        ids, to, last, captured, result = self._prompts[graph]
        ids[:tokens].fill_(1)
        to.fill_(sequence)
        last.fill_(tokens - 1)
        captured.replay()
        result.tolist()

    def move(self, source: int, target: int) -> None:
        """As of the decoder."""
        self._decoder.move(source, target)

    def _captured(self, call: Callable[[], Any]) -> tuple[Any, Any]:
        with torch.no_grad():
            with torch.cuda.stream(torch.cuda.Stream()):
                call()
                call()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                result = call()
        self._pool = self._pool or graph.pool()
        return graph, result


def _random(*shape: int) -> Any:
    return torch.randn(shape, device="cuda", dtype=torch.float16) * 0.02


def _zeros(count: int) -> Any:
    return torch.zeros(count, dtype=torch.long, device="cuda")


def _rotated(x: Any, cos: Any, sin: Any) -> Any:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin
