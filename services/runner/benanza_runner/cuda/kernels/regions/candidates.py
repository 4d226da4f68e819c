"""Regions as generated kernels, compiled through CuPy.

Sizes are constants of a kernel, so that the compiler knows how indices follow from each other.
"""

from collections.abc import Iterator
from functools import cache, partial
from math import prod
from typing import Any

import cupy

from benanza_runner.cuda import layouts
from benanza_runner.cuda.calls import (
    Call,
    Concatenation,
    Elementwise,
    Reduction,
    Region,
    RowNormalisation,
    Shape,
    Softmax,
    Splitting,
)
from benanza_runner.cuda.calls.region import Given
from benanza_runner.cuda.candidate import Candidate, Run, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.feature_maps import (
    RANKS,
    feature_maps,
    reduces_feature_maps,
    sorted_results,
)
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES
from benanza_runner.cuda.kernels.regions.kernel import NAME, KernelSource, KernelWriter
from benanza_runner.cuda.kernels.regions.section import RegionResult
from benanza_runner.cuda.kernels.regions.threads import Threads
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.lowering.regions.as_region import as_region, is_whole
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

POINTWISE = (Threads(128, 1), Threads(256, 1))
POINTWISE_OF_MANY = (Threads(256, 1, turns=2), Threads(256, 1, turns=4))
MANY = 1 << 18
"""From so many packs on, a thread may compute several."""

ACROSS = (Threads(8, 32, across=True), Threads(16, 32, across=True), Threads(32, 32, across=True))
LEAST_LANES, MOST_LANES = 8, 1024
FEWER = 8
"""A row has so many threads as it has packs, or up to so many times fewer."""

CLUSTERS = (
    Threads(4 * 512, 1, cluster=4),
    Threads(8 * 512, 1, cluster=8),
    Threads(8 * 1024, 1, cluster=8),
)
LONG = 2048
FEW = 64
"""Up to so many rows of at least so many packs are shared by several blocks each."""

OLDEST_WITH_CLUSTERS = 90

WARP = 32
BLOCK = 128
"""Rows of few threads share a block of so many."""

MOST_LOADS = 256
"""With more loads of single elements, it takes seconds to compile a kernel for wide access, which
would be no faster.
"""

TILES = (8, 7, 4)
MOST_TILES = 2
LEAST_LOADS = 9
MOST_OF_LOADS = 0.7
"""A thread may compute several packs next to each other where it loads at least so often for one,
and at most this share of that for each of several, as with the windows of convolutions.
"""

MOST_REGISTERS = 160
"""What is loaded for a tile should fit into so many of 4 bytes: the compiler loads early."""

MINIMAL = "--minimal"
"""NVRTC defines less of CUDA before the source, which takes a seventh of the time to compile."""

FAST = ("--prec-div=false", "--prec-sqrt=false", "--ftz=true")
"""Quotients and roots that are off by two units in the last place, as Triton has them. Not where a
region rounds.
"""


class RegionKernels:
    """Candidates for regions, and for what is one: see `as_region`."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout, width of access, and threads of a row and of a block."""
        call = as_region(workspace.call, workspace.computed)
        if call is None:
            return
        if any(prod(value.shape) >= MOST_ELEMENTS for value in call.values):
            yield refused(LIBRARY, "region kernel", "", "it has too many elements for one kernel")
            return
        for layout, order in _layouts(workspace, call):
            yield from _candidates(workspace, call, layout, order)


def _feature_maps(call: Call, region: Region) -> frozenset[Shape]:
    """The shapes of what has its channels first or last, for a call that is this region."""
    match call:
        case Elementwise() if is_whole(call):
            return frozenset()
        case Elementwise() if len(call.output) in layouts.RANKS:
            rank = len(call.output)
        case Concatenation() if len(call.output) in RANKS:
            rank = len(call.output)
        case Splitting() if len(call.input) in RANKS:
            rank = len(call.input)
        case _:
            return feature_maps(region)
    return frozenset(value.shape for value in region.values if len(value.shape) == rank)


def _layouts(workspace: Workspace, call: Region) -> list[tuple[str, Order]]:
    """Name and order of axes of the layouts of feature maps; ONNX's own if there are none, or if
    they count as rows. Where it doesn't matter how all lie, they have no name.
    """
    match workspace.call:
        case Elementwise() if is_whole(workspace.call):
            return [("", ())]
        case RowNormalisation(by_channel=False):
            return [("", ())]
        case Reduction() if not reduces_feature_maps(workspace.call):
            return [("", ())]
        case Softmax():
            return [(workspace.natural_layout(workspace.call.output), ())]
    ranks = {len(shape) for shape in _feature_maps(workspace.call, call)}
    if len(ranks) == 1:
        return list(workspace.layouts(ranks.pop()))
    return [(workspace.natural_layout(*sorted_results(call)), ())]


def _candidates(
    workspace: Workspace, call: Region, layout: str, order: Order
) -> Iterator[Candidate | Variant]:
    given = [value for value in call.values if isinstance(value, Given)]
    maps = _feature_maps(workspace.call, call) if order else ()
    orders = {value.name: order if value.shape in maps else () for value in given}
    operands = {value.name: _operand(workspace, value, orders[value.name]) for value in given}
    values = [call.values[output] for output in call.outputs]
    results = [
        workspace.result(value.shape, order if value.shape in maps else None, value.element, number)
        for number, value in enumerate(values)
    ]
    # Where it doesn't matter how all lie, results count as if they lay in ONNX's order.
    whole = isinstance(workspace.call, Elementwise) and is_whole(workspace.call)
    written = [
        RegionResult(value, tuple(range(len(result.order))) if whole else result.order)
        for value, result in zip(call.outputs, results, strict=True)
    ]
    strides = {name: operand.strides for name, operand in operands.items()}
    arrays = [tensor.array for tensor in (*operands.values(), *results)]
    wide = WIDE_BYTES // min(result.element_bytes for result in results)
    try:
        sources = list(_sources(KernelWriter(call, strides, written, workspace.precision), wide))
    except UnsupportedError as error:
        yield refused(LIBRARY, "region kernel", layout, error)
        return
    options = () if call.rounds else FAST
    for shape, source in sources:
        for threads in _threads(source):
            blocks = threads.cluster * sum(section.blocks(threads) for section in source.sections)
            x, y = threads.shape()
            turns = f", {threads.turns} turns" if threads.turns > 1 else ""
            cluster = f", {threads.cluster} in a cluster" if threads.cluster > 1 else ""
            name = f"region kernel ({shape}, {x} by {y} threads{turns}{cluster})"
            kernel = _region_kernel(source.compiled_for(threads), options)
            run = _launch(kernel, blocks, (x, y), tuple(arrays))
            prepare = partial(_compiled, kernel, cupy.cuda.Device())
            more = tuple(results[1:])
            yield Candidate(LIBRARY, name, layout, prepare, run, results[0], more, compiles=True)


def _sources(writer: KernelWriter, wide: int) -> Iterator[tuple[str, KernelSource]]:
    """Kernels with the width of their accesses, and with tiles where these save loads."""
    alone = writer.written(1)
    yield "1 wide", alone
    reduces = any(section.reduces for section in alone.sections)
    texts = {alone.text}
    for width in (wide,) if reduces else (wide // 2, wide):
        source = writer.written(width)
        if source.loads_by_element <= MOST_LOADS and source.text not in texts:
            texts.add(source.text)
            yield f"{width} wide", source
    if alone.loads < LEAST_LOADS or reduces:
        return
    tiles, per_word = 0, max(1, wide * 4 // WIDE_BYTES)
    for tile in TILES:
        loads = writer.written(1, tile).loads
        if tiles < MOST_TILES and alone.loads < loads <= MOST_OF_LOADS * tile * alone.loads:
            tiles += 1
            widths = dict.fromkeys((1, 2, wide // 2, wide))
            fitting = [width for width in widths if loads * width <= MOST_REGISTERS * per_word]
            for width in fitting[-2:]:
                if (source := writer.written(width, tile)).loads_by_element <= MOST_LOADS:
                    yield f"{width} wide, {tile} in a tile", source


def _compiled(kernel: Any, device: Any) -> int:
    """Compiles the kernel, unless it is, in any thread. It needs no scratch memory."""
    with device:
        kernel.compile()
    return 0


def _operand(workspace: Workspace, value: Given, order: Order) -> DeviceTensor:
    order = value.order or order
    if not order:
        natural = tuple(range(len(value.shape)))
        return workspace.operand(value.name).seen_as(value.shape, natural)
    if isinstance(workspace.call, Region):
        return workspace.operand(value.name, order)
    return workspace.expanded(value.name, value.shape, order)


def _threads(source: KernelSource) -> Iterator[Threads]:
    """Blocks of threads that suit the sections: their rows' lengths, and how rows lie in memory."""
    reducing = [section for section in source.sections if section.reduces]
    if source.tile > 1:
        yield POINTWISE[0]
        return
    if not reducing:
        yield from POINTWISE
        if max(section.packs for section in source.sections) >= MANY:
            yield from POINTWISE_OF_MANY
        return
    packs = max(section.packs for section in reducing)
    longest = max(section.longest for section in reducing)
    yield from dict.fromkeys((*_lanes(longest), *_lanes(packs)))
    if source.by_row:
        yield from ACROSS
    rows = max(section.rows for section in reducing)
    if packs >= LONG and rows <= FEW and _has_clusters():
        yield from CLUSTERS


def _lanes(packs: int) -> Iterator[Threads]:
    """Threads for rows of so many packs."""
    enough = 1 << (packs - 1).bit_length()
    least = max(LEAST_LANES, min(enough, MOST_LANES) // FEWER)
    lanes = max(LEAST_LANES, min(enough, MOST_LANES))
    while lanes >= least:
        # Threads of several warps wait for each other, so they have a block of their own.
        yield Threads(lanes, BLOCK // lanes if lanes <= WARP else 1)
        lanes //= 2


@cache
def _has_clusters() -> bool:
    """Whether the device runs blocks in clusters, which share their memory."""
    return int(cupy.cuda.Device().compute_capability) >= OLDEST_WITH_CLUSTERS


def _launch(kernel: Any, blocks: int, threads: tuple[int, int], arguments: tuple[Any, ...]) -> Run:
    return lambda: kernel((blocks,), threads, arguments)


@cache
def _region_kernel(text: str, options: tuple[str, ...]) -> Any:
    return cupy.RawKernel(text, NAME, options=(MINIMAL, *options))
