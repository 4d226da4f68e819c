"""Convolutions, attention, and products that cuBLASLt lacks, through cuDNN's graph API.

One call is one graph. Its plans, which the heuristics and the fallback offer, are the candidates.
"""

from collections.abc import Iterator

import cudnn
import cupy

from benanza_runner.cuda.calls import (
    AnyConvolution,
    Attention,
    CachedAttention,
    Convolution,
    EightBitProduct,
    Product,
    Quantised,
)
from benanza_runner.cuda.candidate import Candidate, in_turn, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.appending import behind_appending
from benanza_runner.cuda.libraries.cudnn_operations import attention, convolution, product
from benanza_runner.cuda.libraries.cudnn_plans import LIBRARY, Build, OperationGraph
from benanza_runner.cuda.libraries.cudnn_quantised import (
    quantised_convolution,
    quantised_product,
)
from benanza_runner.cuda.libraries.cudnn_tiles import configurations
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

FUSED_BY_CUBLASLT = frozenset(("", "Relu", "GeluTanh"))


class CudnnGraph:
    """Candidates of cuDNN's graph API, on one stream; at most so many plans for each layout."""

    library = LIBRARY

    def __init__(self, stream: int, most_plans: int) -> None:
        self._handle = cudnn.create_handle()
        self.use(stream)
        self._most_plans = most_plans
        self._multiprocessors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])

    def use(self, stream: int) -> None:
        """Starts what follows on this stream."""
        cudnn.set_stream(self._handle, stream)

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """Plans in both layouts, the most promising first."""
        call = workspace.call
        if isinstance(call, AnyConvolution):
            for layout, order in workspace.layouts(len(call.input)):
                result = workspace.result(call.output, order)
                build = convolution(workspace, call, order, result)
                yield from self._planned(workspace, layout, result, build)
        elif isinstance(call, Product) and call.activation not in FUSED_BY_CUBLASLT:
            result = workspace.result(call.output)
            layout = workspace.natural_layout(*call.moved)
            yield from self._planned(workspace, layout, result, product(workspace, call, result))
        elif isinstance(call, Attention):
            result = workspace.result(call.output)
            yield from self._planned(workspace, "", result, attention(workspace, call))
        elif isinstance(call, CachedAttention):
            yield from behind_appending(self, workspace, call)
        elif isinstance(call, Quantised) and isinstance(call.sums, Convolution):
            yield from self._quantised(workspace, call, call.sums)
        elif isinstance(call, Quantised) and isinstance(call.sums, EightBitProduct):
            result = workspace.result(call.output, None, call.element)
            build = quantised_product(workspace, call, call.sums)
            yield from self._planned(workspace, "", result, build)

    def _quantised(
        self, workspace: Workspace, call: Quantised, sums: Convolution
    ) -> Iterator[Candidate | Variant]:
        """Plans of a quantised convolution, with channels last: it has none with channels first."""
        for layout, order in workspace.layouts(len(sums.input)):
            if order[-1] != 1:
                continue
            result = workspace.result(call.output, order, call.element)
            try:
                build, before = quantised_convolution(workspace, call, sums, order, result)
            except UnsupportedError as error:
                yield refused(LIBRARY, "graph", layout, error)
                return
            for offered in self._planned(workspace, layout, result, build):
                if before is not None and isinstance(offered, Candidate):
                    yield offered._replace(run=in_turn(before, offered.run))
                else:
                    yield offered

    def _planned(
        self, workspace: Workspace, layout: str, result: DeviceTensor, build: Build
    ) -> Iterator[Candidate | Variant]:
        try:
            graph = OperationGraph(self._handle, workspace, result, build)
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
            yield refused(LIBRARY, "graph", layout, error)
            return
        most, more = self._most_plans, list[dict[str, int]]()
        if isinstance(workspace.call, Convolution) and workspace.call.has_prologue:
            # Each takes a second to compile, and those that are offered are alike.
            most, more = 1, configurations(workspace.call, self._multiprocessors)
        for index in range(graph.count):
            if graph.built < most:
                yield graph.candidate(index, layout)
        for knobs in more:
            yield graph.configured(knobs, layout)
